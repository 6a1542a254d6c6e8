"""The tokens of decode rows in a step of a fixed number of them."""

from __future__ import annotations

from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import require_lengths
from opgold.reference._draft_model import INT32_MAX
from opgold.reference.schema import In, InOut


def speculate_update_seq_lens_this_time(
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    *,
    real_bsz: int,
    value: int,
) -> None:
    """Give each of the first `real_bsz` rows its tokens: `value` with cached tokens, 0 without.

    Rows with an encoder length, and rows from `real_bsz` on, keep theirs.

    Raises ValueError for negative lengths in the first `real_bsz` rows, for a `real_bsz` outside the arrays and for a
    `value` that is no length. Source: the op, which no caller uses today.
    """
    bsz = len(seq_lens_this_time)
    if not 0 <= real_bsz <= bsz:
        raise ValueError(f"real_bsz: {real_bsz}, expected 0 to the {bsz} rows of seq_lens_this_time")
    if not 0 <= value <= INT32_MAX:
        raise ValueError(f"value: {value}, expected 0 to {INT32_MAX}")
    require_lengths(seq_lens_encoder=seq_lens_encoder[:real_bsz], seq_lens_decoder=seq_lens_decoder[:real_bsz])

    for b in range(real_bsz):
        if seq_lens_encoder[b] == 0:
            seq_lens_this_time[b] = value if seq_lens_decoder[b] != 0 else 0
