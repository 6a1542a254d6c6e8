"""Lengths, rollback, draft length and next input token of every slot after its drafts were verified."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_slots
from opgold.reference.schema import In, InOut

INT32_MAX = np.iinfo(np.int32).max


def speculate_update(
    seq_lens_encoder: InOut[Int32[ndarray, "max_bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "max_bsz"]],
    not_need_stop: InOut[Bool[ndarray, "1"]],
    draft_tokens: InOut[Int64[ndarray, "max_bsz max_draft"]],
    actual_draft_token_nums: InOut[Int32[ndarray, "max_bsz"]],
    accept_tokens: In[Int64[ndarray, "max_bsz max_draft"]],
    accept_num: In[Int32[ndarray, "max_bsz"]],
    stop_flags: In[Bool[ndarray, "max_bsz"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    is_block_step: In[Bool[ndarray, "max_bsz"]],
    stop_nums: In[Int64[ndarray, "1"]],
    mask_rollback: InOut[Int32[ndarray, "max_bsz"]],
) -> None:
    """Take the `accept_num[b]` accepted tokens of every slot below `bsz` that is not blocked. Lengths are in tokens.

    A decode slot (no encoder length) that is not stopped adds its accepted tokens to its decoder length, and
    `mask_rollback` becomes `seq_lens_this_time - accept_num`, which may be negative; in a stopped slot and in a prompt
    chunk it becomes 0. A decode slot with more than 1 token, stopped or not, then adapts its number of drafts: if all
    were accepted (`accept_num - 1`), by 2 up to the draft row's width less 1, else down by 1, but not below 1. An
    encoder length moves to the decoder length, in a stopped slot too. The last accepted token becomes draft token 0; a
    slot that accepted nothing keeps its own. Blocked slots, and those from `bsz` on, stay as they are.
    `not_need_stop`: fewer than `stop_nums` slots are stopped, counting all from `bsz` on, but not blocked ones.

    Raises ValueError for slots that act: accepted tokens past their row, negative lengths, lengths past int32, a number
    of drafts that the row does not hold where it adapts; and for fewer rows than slots. Source: the GPU base op.
    """
    bsz, width = len(seq_lens_this_time), draft_tokens.shape[1]
    require_slots(bsz, stop_flags=stop_flags)
    this, enc, dec = seq_lens_this_time, seq_lens_encoder[:bsz], seq_lens_decoder[:bsz]
    stopped, acts, accepted = stop_flags[:bsz], ~is_block_step[:bsz], accept_num[:bsz]
    fits = (accepted >= 0) & (accepted <= width)
    require(~acts | fits, "accept_num", accepted, f"0 to {width}, the columns of accept_tokens")
    for name, values in (("seq_lens_this_time", this), ("seq_lens_encoder", enc), ("seq_lens_decoder", dec)):
        require(~acts | (values >= 0), name, values, "a length of at least 0")
    added = np.where(enc > 0, enc, np.where(stopped, 0, accepted)).astype(np.int64)
    require(~acts | (dec + added <= INT32_MAX), "seq_lens_decoder", dec, "within int32 with this step's tokens")
    adapts = acts & (this > 1) & (enc == 0)
    drafts = actual_draft_token_nums[:bsz]
    held = (drafts >= 0) & (drafts < width)
    require(~adapts | held, "actual_draft_token_nums", drafts, f"0 to {width - 1}, a row's columns less 1")

    for b in acts.nonzero()[0]:
        decodes = enc[b] == 0 and not stopped[b]
        mask_rollback[b] = this[b] - accepted[b] if decodes else 0
        if adapts[b]:
            all_accepted = accepted[b] - 1 == drafts[b]
            drafts[b] = min(drafts[b] + 2, width - 1) if all_accepted else max(drafts[b] - 1, 1)
        dec[b] += added[b]
        enc[b] = 0
        if accepted[b] > 0:
            draft_tokens[b, 0] = accept_tokens[b, accepted[b] - 1]
    not_need_stop[0] = np.count_nonzero(acts & stopped) + len(stop_flags) - bsz < stop_nums[0]
