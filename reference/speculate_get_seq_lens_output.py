"""How many rows each slot gives to sampling."""

from __future__ import annotations

from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import require_lengths
from opgold.reference.schema import In, Out


def speculate_get_seq_lens_output(
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    *,
    seq_lens_output: Out[Int32[ndarray, "bsz"]],
) -> None:
    """Count each slot's output rows: one for a prompt chunk that runs tokens, else one a token.

    A chunk in the middle of its prompt gives one row as well. A ghost slot gives one row a token, a held prefill none.
    The encoder length counts only by being there; `seq_lens_decoder` is not looked at. Lengths are in tokens.

    Raises ValueError for a negative `seq_lens_this_time` or `seq_lens_encoder`.
    Source: the op of this name; `speculate_pre_process` counts alike.
    """
    require_lengths(seq_lens_this_time=seq_lens_this_time, seq_lens_encoder=seq_lens_encoder)
    for b, tokens in enumerate(seq_lens_this_time):
        if tokens > 0 and seq_lens_encoder[b] > 0:
            seq_lens_output[b] = 1
        else:
            seq_lens_output[b] = tokens
