"""Accepted-token counts of slots that have nothing cached."""

from __future__ import annotations

from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import require_capacity, require_lengths
from opgold.reference.schema import In, InOut


def speculate_clear_accept_nums(
    accept_num: InOut[Int32[ndarray, "max_bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
) -> None:
    """Set `accept_num[b]` to 0 where `seq_lens_decoder[b]` is 0. Other counts, and those from `bsz` on, stay.

    Raises ValueError for a negative decoder length, in tokens, and for fewer counts than lengths. Source: the GPU op.
    """
    require_capacity("accept_num", len(accept_num), len(seq_lens_decoder), "counts: one a length of seq_lens_decoder")
    require_lengths(seq_lens_decoder=seq_lens_decoder)

    accept_num[: len(seq_lens_decoder)][seq_lens_decoder == 0] = 0
