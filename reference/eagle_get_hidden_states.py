"""From the target's hidden rows those that the draft model runs on: prompt chunks and accepted tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require, require_capacity, require_lengths
from opgold.reference.schema import Hidden, In, InOut, Out


def eagle_get_hidden_states(
    input: In[Hidden[ndarray, "tokens dim_embed"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    stop_flags: In[Bool[ndarray, "bsz"]],
    accept_num: In[Int32[ndarray, "bsz"]],
    base_model_seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    base_model_seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    *,
    actual_draft_token_num: int,
    out: InOut[Hidden[ndarray, "rows dim_embed"]],
    output_token_num: Out[Int32[ndarray, "1"]],
) -> None:
    """Keep, slot after slot, the rows of a slot that the draft model goes on with, packed densely into `out`.

    `input` holds the target's rows, slot after slot: those of a slot's prompt chunk where the draft model has one
    (`seq_lens_encoder` > 0), else `base_model_seq_lens_this_time` of them. A prompt chunk is kept whole. Of a decode
    slot that the draft model runs (`seq_lens_this_time` not 0) the first `accept_num` rows are kept, of any other slot
    none. `output_token_num` counts the kept rows; rows of `out` behind them keep their values. Rows of `input` behind
    the last slot's are not looked at, nor are the lengths and flags not named here, nor `accept_num` of other slots.

    Raises ValueError for negative lengths, for accepting more rows than the target has run, and for too few rows in
    `input` or `out`. Source: the newest GPU form (H1) of the op, in batch order.
    """
    run, prompt, verified = seq_lens_this_time, seq_lens_encoder, base_model_seq_lens_this_time
    require_lengths(seq_lens_this_time=run, seq_lens_encoder=prompt, base_model_seq_lens_this_time=verified)
    drafting = (prompt == 0) & (run > 0)
    require(~drafting | (accept_num >= 0), "accept_num", accept_num, "a length of at least 0")
    run_by_target = "at most the slot's base_model_seq_lens_this_time"
    require(~drafting | (accept_num <= verified), "accept_num", accept_num, run_by_target)
    consumed = np.where(prompt > 0, prompt, verified)
    kept = np.where(prompt > 0, prompt, np.where(drafting, accept_num, 0))
    sources, starts = prefix_sum(consumed), prefix_sum(kept)
    require_capacity("input", len(input), sources[-1], "rows: those of all slots")
    require_capacity("out", len(out), starts[-1], "rows: those kept of all slots")

    for b in range(len(run)):
        out[starts[b] : starts[b + 1]] = input[sources[b] : sources[b] + kept[b]]
    output_token_num[0] = starts[-1]
