"""The most probable tokens of each output row, up to a cumulated probability."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_capacity
from opgold.reference.schema import Hidden, In, Out


def top_p_candidates(
    probs: In[Hidden[ndarray, "rows vocab"]],
    top_p: In[Hidden[ndarray, "max_bsz"]],
    batch_id_per_token_output: In[Int32[ndarray, "ids"]],
    *,
    candidates_len: int,
    max_seq_len: int,
    verify_scores: Out[Hidden[ndarray, "rows candidates_len"]],
    verify_tokens: Out[Int64[ndarray, "rows candidates_len"]],
    actual_candidate_lens: Out[Int32[ndarray, "rows"]],
) -> None:
    """Rank the positive probabilities of each row, and list them until their sum reaches the slot's top_p.

    Greater probabilities come first, of equal ones the lower token id. They are summed in that order, in float32; the
    rank at which the sum first is at least `top_p` is the last one listed, and the length is its number, from 1.
    Columns behind it hold id 0 and score 0. If `candidates_len` ranks do not reach it, all columns hold their rank, or
    id -1 and score 0 where no positive probability is left, and the length is 0; where top_p is exactly 1 it is the
    number of ranks that hold a probability. Scores are copies. A NaN is no probability; infinity is. A row of batch id
    -1 is all zero. `max_seq_len` is not looked at, nor are ids behind the rows.

    Raises ValueError for fewer ids than rows, an id that is neither -1 nor a slot of `top_p`, and `candidates_len`
    below 1. Source: the newest GPU form of the op, for any number of candidates, with ties, zeros and padding rows
    defined.
    """
    rows, slots = len(probs), batch_id_per_token_output[: len(probs)]
    if candidates_len < 1:
        raise ValueError(f"candidates_len: {candidates_len}, expected at least 1")
    require_capacity("batch_id_per_token_output", len(batch_id_per_token_output), rows, "the rows of probs")
    known = (slots >= -1) & (slots < len(top_p))
    require(known, "batch_id_per_token_output", slots, f"-1 or a slot below {len(top_p)}")

    verify_scores[:] = verify_tokens[:] = actual_candidate_lens[:] = 0
    for row in np.flatnonzero(slots >= 0):
        weights, limit = probs[row].astype(np.float32), np.float32(top_p[slots[row]])
        positive = np.flatnonzero(weights > 0)
        if len(positive) > candidates_len:  # spares a sort of the whole row
            positive = positive[weights[positive] >= np.partition(weights[positive], -candidates_len)[-candidates_len]]
        ranked = positive[np.argsort(-weights[positive], kind="stable")][:candidates_len]
        with np.errstate(over="ignore"):
            sums = np.add.accumulate(weights[ranked])
        reached = np.flatnonzero(sums >= limit)
        if reached.size:
            ranked = ranked[: reached[0] + 1]
        else:
            verify_tokens[row, len(ranked) :] = -1
        verify_scores[row, : len(ranked)] = probs[row, ranked]
        verify_tokens[row, : len(ranked)] = ranked
        actual_candidate_lens[row] = len(ranked) if reached.size or limit == 1 else 0
