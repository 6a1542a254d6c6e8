"""Stop sequences, found where they end in this step's tokens, partly in the history."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require
from opgold.reference._output_rows import generated, require_history, require_layout
from opgold.reference.schema import In, InOut


def speculate_set_stop_value_multi_seqs(
    accept_tokens: InOut[Int64[ndarray, "bsz max_draft"]],
    accept_num: InOut[Int32[ndarray, "bsz"]],
    token_ids_all: In[Int64[ndarray, "bsz max_model_len"]],
    prompt_lens: In[Int64[ndarray, "bsz"]],
    step_idx: In[Int64[ndarray, "bsz"]],
    stop_flags: In[Bool[ndarray, "bsz"]],
    seq_lens: In[Int32[ndarray, "lengths"]],
    stop_seqs: In[Int64[ndarray, "bsz sequences max_stop"]],
    stop_seqs_len: In[Int32[ndarray, "bsz sequences"]],
    end_ids: In[Int64[ndarray, "end_tokens"]],
    min_tokens: In[Int64[ndarray, "bsz"]],
    *,
    history_layout: int = 0,
) -> None:
    """Cut a slot's accepted tokens behind the first stop sequence that ends in them, and end them with an end token.

    `step_idx` counts the generated tokens before this step's `accept_num` ones. A slot is looked at unless it is
    stopped or `step_idx + accept_num` is below `min_tokens`. A sequence (length above 0) that the generated tokens up
    to and including accepted token e end with, for an e from -1 (the history's end) to accept_num - 2, is a match; the
    prompt is not looked at. With e the smallest of all sequences' matches, `end_ids[0]` goes to column e + 1 and
    `accept_num` becomes e + 2; tokens behind stay. Only incoming tokens match. A match that ends with the last accepted
    token is found a step later. e = -1 is tried with no accepted tokens too. `step_idx`, `stop_flags` and `seq_lens`
    are not changed. History lies from `prompt_lens` on (`history_layout` 0) or one entry later (1).

    Raises ValueError, for slots looked at that have a sequence: accepted tokens past their row, history outside its
    row, a sequence longer than its row, and no column or no end token to write. A negative length raises.
    Source: the serial form of the newest op; several matches: the smallest end.
    """
    width, longest = accept_tokens.shape[1], stop_seqs.shape[2]
    require_layout(history_layout)
    totals = [int(step) + int(count) for step, count in zip(step_idx, accept_num, strict=True)]
    looked = ~stop_flags & np.array([t >= m for t, m in zip(totals, min_tokens, strict=True)], bool)
    require(~looked[:, None] | (stop_seqs_len >= 0), "stop_seqs_len", stop_seqs_len, "a length of at least 0")
    expected = f"at most the {longest} columns of stop_seqs"
    require(~looked[:, None] | (stop_seqs_len <= longest), "stop_seqs_len", stop_seqs_len, expected)
    live = looked & (stop_seqs_len > 0).any(axis=1)
    fits = (accept_num >= 0) & (accept_num <= width)
    require(~live | fits, "accept_num", accept_num, f"0 to {width}, the columns of accept_tokens")
    require_history(live, prompt_lens, step_idx, "step_idx", token_ids_all.shape[1], history_layout)
    if live.any() and (width == 0 or len(end_ids) == 0):
        raise ValueError(f"{'end_ids' if width else 'accept_tokens'}: is empty, expected a place for an end token")

    for b in np.flatnonzero(live):
        history = generated(token_ids_all[b], prompt_lens[b], step_idx[b], history_layout)
        tokens = np.concatenate([history, accept_tokens[b, : accept_num[b]]])
        sequences = [stop_seqs[b, s, :length] for s, length in enumerate(stop_seqs_len[b]) if length > 0]
        for e in range(-1, max(0, int(accept_num[b]) - 1)):
            seen = tokens[: len(history) + e + 1]
            if any(len(s) <= len(seen) and np.array_equal(seen[len(seen) - len(s) :], s) for s in sequences):
                accept_tokens[b, e + 1] = end_ids[0]
                accept_num[b] = e + 2
                break
