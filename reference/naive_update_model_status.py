"""The sampled token of every slot, where there are no drafts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_capacity, require_lengths, require_row_sums, require_slots
from opgold.reference.schema import In, InOut


def naive_update_model_status(
    accept_tokens: InOut[Int64[ndarray, "max_bsz max_accept"]],
    accept_num: InOut[Int32[ndarray, "max_bsz"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    next_tokens: In[Int64[ndarray, "output_rows"]],
    cu_seqlens_q_output: In[Int32[ndarray, "offsets"]],
) -> None:
    """Hand every running slot the token of its last output row. Lengths are in tokens.

    A slot below `bsz` with tokens gets `next_tokens[cu_seqlens_q_output[b + 1] - 1]` in column 0 of its row, and both
    its lengths become 1; a slot without gets 0 in both, and its row stays. Other columns, and slots from `bsz` on,
    stay.

    Raises ValueError for negative lengths, a running slot without an output row, a `cu_seqlens_q_output` that does not
    start at 0, falls, or counts more rows than there are sampled tokens, a row without a column, and fewer rows than
    slots. Entries behind the slots' are not looked at. Source: the GPU op, where a running slot without an output row
    takes the token of the slot before.
    """
    bsz = len(seq_lens_this_time)
    require_slots(bsz, accept_num=accept_num)
    require_lengths(seq_lens_this_time=seq_lens_this_time)
    running = seq_lens_this_time > 0
    require_capacity("cu_seqlens_q_output", len(cu_seqlens_q_output), bsz + 1, "entries: the slots, and 1")
    sums = cu_seqlens_q_output[: bsz + 1]
    require_row_sums("cu_seqlens_q_output", sums, len(next_tokens), "the sampled tokens")
    has_rows = np.append(~running | (sums[1:] > sums[:-1]), True)
    require(has_rows, "cu_seqlens_q_output", sums, "less than its successor: the slot runs and needs an output row")
    if running.any():
        require_capacity("accept_tokens", accept_tokens.shape[1], 1, "columns: one for the sampled token")

    for b in range(bsz):
        accept_num[b] = seq_lens_this_time[b] = running[b]
        if running[b]:
            accept_tokens[b, 0] = next_tokens[sums[b + 1] - 1]
