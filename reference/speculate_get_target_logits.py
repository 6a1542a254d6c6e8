"""Logits of the target model's accepted tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Int32
from numpy import ndarray

from opgold.reference._contract import require_capacity, require_slots, require_sums
from opgold.reference._logits import next_rows, require_accepted
from opgold.reference.schema import In, InOut


def speculate_get_target_logits(
    target_logits: InOut[Float32[ndarray, "target_rows vocab"]],
    logits: In[Float32[ndarray, "rows vocab"]],
    cu_batch_token_offset: In[Int32[ndarray, "batch_offsets"]],
    ori_cu_batch_token_offset: In[Int32[ndarray, "ori_offsets"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "max_bsz"]],
    accept_num: In[Int32[ndarray, "max_bsz"]],
) -> None:
    """Pack the first rows of every slot's logits: 1 of a prompt chunk (encoder length), else `accept_num[b]`.

    Slot b's rows lie from row `ori_cu_batch_token_offset[b]` of `logits` on, one for a prompt chunk, else one for each
    of `seq_lens_this_time`, and go to `target_logits` from row `cu_batch_token_offset[b]` on. Both are prefix sums,
    element 0 included, of the rows that the slots have and give. A prompt chunk's `accept_num` is not looked at. Rows
    behind the last keep their values; offsets of slots from `bsz` on are not looked at.

    Raises ValueError for negative lengths, held prefills, more tokens accepted than a slot has rows, offsets that are
    not these sums, and fewer rows anywhere than these. Source: the GPU op.
    """
    bsz = len(seq_lens_this_time)
    held = next_rows(seq_lens_this_time, seq_lens_encoder)
    require_slots(bsz, accept_num=accept_num)
    given = np.where(seq_lens_encoder[:bsz] > 0, 1, accept_num[:bsz])
    require_accepted(given, held)
    require_sums("ori_cu_batch_token_offset", ori_cu_batch_token_offset, held, "each slot's rows of logits")
    require_sums("cu_batch_token_offset", cu_batch_token_offset, given, "each slot's accepted tokens")
    starts, sources = cu_batch_token_offset, ori_cu_batch_token_offset
    require_capacity("logits", len(logits), sources[bsz], "rows: the rows of all slots")
    require_capacity("target_logits", len(target_logits), starts[bsz], "rows: the accepted tokens of all slots")

    for b, rows in enumerate(given):
        target_logits[starts[b] : starts[b + 1]] = logits[sources[b] : sources[b] + rows]
