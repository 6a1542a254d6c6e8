"""From the draft model's hidden rows those of each slot's last token, for its next substep."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require, require_capacity, require_lengths
from opgold.reference.schema import Hidden, In, InOut, Out


def eagle_get_self_hidden_states(
    input: In[Hidden[ndarray, "tokens dim_embed"]],
    last_seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    step_idx: In[Int64[ndarray, "bsz"]],
    *,
    out: InOut[Hidden[ndarray, "rows dim_embed"]],
    output_token_num: Out[Int32[ndarray, "1"]],
) -> None:
    """Keep, slot after slot, the last row of every slot that goes on drafting, packed densely into `out`.

    `input` holds the rows of the last substep, slot after slot: `last_seq_lens_this_time` (tokens run then) of them
    or, where `step_idx` is 1, one, the prompt's: a slot without tokens then and now has none. A slot goes on where
    `seq_lens_this_time` (tokens of the next substep) is not 0. `output_token_num` counts the kept rows; rows of `out`
    behind them keep their values. Rows of `input` behind the last slot's are not looked at.

    Raises ValueError for negative lengths, for a slot that goes on without having run tokens, and for too few rows in
    `input` or `out`. Source: the GPU form of the op that takes `step_idx`.
    """
    before, now, first = last_seq_lens_this_time, seq_lens_this_time, step_idx == 1
    require_lengths(last_seq_lens_this_time=before, seq_lens_this_time=now)
    some = "at least 1: the slot goes on, and its step_idx is not 1"
    require((now == 0) | first | (before > 0), "last_seq_lens_this_time", before, some)
    consumed = np.where(first, (before > 0) | (now > 0), before)
    sources = prefix_sum(consumed)
    require_capacity("input", len(input), sources[-1], "rows: those of all slots")
    kept = np.flatnonzero(now)
    require_capacity("out", len(out), len(kept), "rows: one for each slot that goes on")

    for row, b in enumerate(kept):
        out[row] = input[sources[b + 1] - 1]
    output_token_num[0] = len(kept)
