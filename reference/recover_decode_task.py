"""Blocked slots that got their cache blocks decode on."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32
from numpy import ndarray

from opgold.reference._contract import require, require_slots
from opgold.reference._schedule import look_ahead_column, require_attributes, unallocated
from opgold.reference.schema import In, InOut


def recover_decode_task(
    stop_flags: InOut[Bool[ndarray, "max_bsz"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: InOut[Int32[ndarray, "max_bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "max_bsz"]],
    step_seq_lens_decoder: In[Int32[ndarray, "max_bsz"]],
    block_tables: In[Int32[ndarray, "max_bsz blocks_per_slot"]],
    is_block_step: InOut[Bool[ndarray, "max_bsz"]],
    *,
    block_size: int,
    max_draft_tokens: int,
) -> None:
    """Resume the slots below `bsz` that `speculate_schedule_cache` has blocked and would not block again.

    A blocked slot with s = `step_seq_lens_decoder[b]` cached tokens resumes once column `s // block_size` of its block
    table is not -1, and column `(s + 2 * max_draft_tokens + 2) // block_size` is not -1 or does not exist: `stop_flags`
    and `is_block_step` are cleared, its decoder length is s, its encoder length 0, and it runs 1 token. All other slots
    stay as they are.

    Raises ValueError for blocked slots: a negative saved length, one past the table, a block id below -1 in either
    column; for a look-ahead or block size past its type, and fewer rows than slots. Source: the GPU op, which looks at
    the first of the two blocks alone, so that the slot can be blocked again at once.
    """
    bsz = len(seq_lens_this_time)
    require_attributes(block_size, max_draft_tokens)
    require_slots(bsz, is_block_step=is_block_step)
    blocked, cached = is_block_step[:bsz].copy(), step_seq_lens_decoder[:bsz]
    columns = block_tables.shape[1]
    inside = (cached >= 0) & (cached.astype(np.int64) < columns * block_size)
    require(~blocked | inside, "step_seq_lens_decoder", cached, f"a length within the {columns} blocks of the table")
    waits = unallocated(block_tables, blocked, cached.astype(np.int64) // block_size)
    waits |= unallocated(block_tables, blocked, look_ahead_column(cached, block_size, max_draft_tokens))

    for b in (blocked & ~waits).nonzero()[0]:
        stop_flags[b] = is_block_step[b] = False
        seq_lens_this_time[b], seq_lens_encoder[b] = 1, 0
        seq_lens_decoder[b] = cached[b]
