"""From packed hidden rows the last one of each slot that ran tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require_capacity, require_lengths
from opgold.reference.schema import Hidden, In, Out


def eagle_gather_hidden_states(
    input: In[Hidden[ndarray, "tokens dim_embed"]],
    cu_seqlens_q: In[Int32[ndarray, "bsz+1"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    batch_id_per_token_output: In[Int32[ndarray, "ids"]],
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]],
    real_output_token_num: In[Int32[ndarray, "1"]],
    *,
    out: Out[Hidden[ndarray, "bsz dim_embed"]],
    output_token_num: Out[Int32[ndarray, "1"]],
) -> None:
    """Pick the last row of every slot with tokens, packed densely, slot after slot; further rows of `out` are zero.

    `input` holds `seq_lens_this_time` (tokens) rows a slot, slot after slot. Rows behind the last slot's are not
    looked at. `output_token_num` counts the slots with tokens. The op takes all its other inputs without reading them.

    Raises ValueError for negative lengths and for fewer rows in `input` than tokens. Source: the newest GPU form.
    """
    require_lengths(seq_lens_this_time=seq_lens_this_time)
    starts = prefix_sum(seq_lens_this_time)
    require_capacity("input", len(input), starts[-1], "rows: the sum of seq_lens_this_time")

    out[:] = 0
    running = np.flatnonzero(seq_lens_this_time)
    for row, b in enumerate(running):
        out[row] = input[starts[b + 1] - 1]
    output_token_num[0] = len(running)
