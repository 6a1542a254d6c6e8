"""Slots that must wait for a cache block before they decode on."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_slots
from opgold.reference._schedule import look_ahead_column, require_attributes, unallocated
from opgold.reference.schema import In, InOut


def speculate_schedule_cache(
    draft_tokens: In[Int64[ndarray, "max_bsz max_draft"]],
    block_tables: In[Int32[ndarray, "max_bsz blocks_per_slot"]],
    stop_flags: InOut[Bool[ndarray, "max_bsz"]],
    prompt_lens: In[Int64[ndarray, "max_bsz"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: InOut[Int32[ndarray, "max_bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "max_bsz"]],
    step_seq_lens_decoder: InOut[Int32[ndarray, "max_bsz"]],
    step_draft_tokens: InOut[Int64[ndarray, "max_bsz max_draft"]],
    step_seq_lens_this_time: InOut[Int32[ndarray, "max_bsz"]],
    accept_num: InOut[Int32[ndarray, "max_bsz"]],
    accept_tokens: InOut[Int64[ndarray, "max_bsz max_accept"]],
    is_block_step: InOut[Bool[ndarray, "max_bsz"]],
    not_need_stop: InOut[Bool[ndarray, "1"]],
    stop_nums: In[Int64[ndarray, "1"]],
    *,
    block_size: int,
    max_draft_tokens: int,
    prefill_one_step_stop: bool = False,
) -> None:
    """Stop the slots below `bsz` that cannot decode on. Lengths are in tokens.

    A slot that is not stopped, whose decoder length is below its prompt's (a prompt that goes on), stops: it, its three
    lengths and `accept_num` become 0. So does any other with `prefill_one_step_stop`. Else it is blocked if column
    `(seq_lens_decoder + 2 * max_draft_tokens + 2) // block_size` of its block table exists and is -1: `is_block_step`
    and `stop_flags` are set, its draft row, decoder length and tokens are saved in the `step_` arrays, both lengths and
    `accept_num` become 0 and its row of `accept_tokens` -1; it keeps its encoder length. Stopped slots, and those from
    `bsz` on, stay as they are; `is_block_step` is never cleared. `not_need_stop`: fewer than `stop_nums` slots are
    stopped then, counting all from `bsz` on.

    Raises ValueError for slots not stopped: negative lengths, a block id below -1 where one is needed; for a look-ahead
    or block size past its type, and fewer rows than slots. Source: the GPU op, which looks at 512 slots at most.
    """
    bsz = len(seq_lens_this_time)
    require_attributes(block_size, max_draft_tokens)
    require_slots(bsz, stop_flags=stop_flags)
    runs, cached, prompts = ~stop_flags[:bsz], seq_lens_decoder[:bsz], prompt_lens[:bsz]
    for name, lengths in (
        ("prompt_lens", prompts),
        ("seq_lens_this_time", seq_lens_this_time),
        ("seq_lens_encoder", seq_lens_encoder[:bsz]),
        ("seq_lens_decoder", cached),
    ):
        require(~runs | (lengths >= 0), name, lengths, "a length of at least 0")
    stops = runs & ((cached < prompts) | prefill_one_step_stop)
    blocked = unallocated(block_tables, runs & ~stops, look_ahead_column(cached, block_size, max_draft_tokens))

    for b in blocked.nonzero()[0]:
        is_block_step[b] = True
        step_draft_tokens[b] = draft_tokens[b]
        step_seq_lens_decoder[b], step_seq_lens_this_time[b] = cached[b], seq_lens_this_time[b]
        accept_tokens[b] = -1
    for b in (stops | blocked).nonzero()[0]:
        stop_flags[b] = True
        seq_lens_this_time[b] = seq_lens_decoder[b] = accept_num[b] = 0
        if stops[b]:
            seq_lens_encoder[b] = 0
    not_need_stop[0] = np.count_nonzero(stop_flags[:bsz]) + len(stop_flags) - bsz < stop_nums[0]
