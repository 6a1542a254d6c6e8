"""Penalties, temperature and suppressed tokens on the logits of all packed output rows."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require
from opgold.reference._output_rows import generated, require_history, require_layout, require_row_slots, require_slots
from opgold.reference.schema import Hidden, In, InOut

ULPS = {"logits": 1}


def speculate_get_token_penalty_multi_scores(
    token_ids_all: In[Int64[ndarray, "slots max_model_len"]],
    prompt_lens: In[Int64[ndarray, "slots"]],
    logits: InOut[Hidden[ndarray, "rows vocab"]],
    penalty_scores: In[Hidden[ndarray, "slots"]],
    frequency_scores: In[Hidden[ndarray, "slots"]],
    presence_scores: In[Hidden[ndarray, "slots"]],
    temperatures: In[Float32[ndarray, "slots"]],
    bad_tokens: In[Int64[ndarray, "slots max_bad"]],
    bad_tokens_len: In[Int64[ndarray, "slots"]],
    cur_len: In[Int64[ndarray, "slots"]],
    min_len: In[Int64[ndarray, "slots"]],
    eos_token_id: In[Int64[ndarray, "end_tokens"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    batch_id_per_token_output: In[Int32[ndarray, "ids"]],
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]],
    *,
    max_seq_len: int,
    history_layout: int = 0,
) -> None:
    """Change the logits x of every row whose batch id is a slot; rows of batch id -1 are untouched.

    1. Row j of a slot (j counts from `cu_seqlens_q_output`) with 0 <= `cur_len` and `cur_len` + j < `min_len`: logits
    of end tokens become -1e10 (float16: -1e4). 2. A token that occurs c > 0 times among the slot's `cur_len` generated
    tokens: x = x*penalty if x < 0, else x/penalty; then x = x - c*frequency - presence. A negative `cur_len` counts
    none. 3. x / temperature, for every token. 4. The slot's first `bad_tokens_len` (at most all) bad tokens: -1e10
    (float16: -inf). Ids outside the vocabulary are skipped, negative ones in the history too. History lies from
    `prompt_lens` on (`history_layout` 0) or from one entry later (1). Only the length of `seq_lens_this_time` is used,
    `max_seq_len` is not.

    Error model: float32 in this order, one rounding to the logits' dtype; 1 representable value off is accepted. A
    fused multiply-add agrees where c*frequency is exact. Constants and copies are exact.

    Raises ValueError for ids that do not name their row's slot, history outside its row, a negative `bad_tokens_len`.
    Source: the newest GPU form of the op; it suppresses end tokens for any number of rows here.
    """
    ids, starts, vocab = batch_id_per_token_output, cu_seqlens_q_output, logits.shape[1]
    require_layout(history_layout)
    require_slots(len(prompt_lens), len(seq_lens_this_time))
    require_row_slots(ids, starts, len(logits))
    ids = ids[: len(logits)]
    live = np.isin(np.arange(len(prompt_lens)), ids)
    require_history(live, prompt_lens, np.maximum(cur_len, 0), "cur_len", token_ids_all.shape[1], history_layout)
    require(~live | (bad_tokens_len >= 0), "bad_tokens_len", bad_tokens_len, "a length of at least 0")

    with np.errstate(all="ignore"):
        suppressed = logits.dtype.type(-1e4 if logits.dtype == np.float16 else -1e10)
        for b in np.flatnonzero(live):
            history = _within(generated(token_ids_all[b], prompt_lens[b], cur_len[b], history_layout), vocab)
            bad = _within(bad_tokens[b, : bad_tokens_len[b]], vocab)
            seen, counts = np.unique(history, return_counts=True)
            penalty, frequency = np.float32(penalty_scores[b]), np.float32(frequency_scores[b])
            for t in np.flatnonzero(ids == b):
                x = logits[t].astype(np.float32)
                if 0 <= cur_len[b] < int(min_len[b]) - int(t - starts[b]):
                    x[_within(eos_token_id, vocab)] = suppressed
                scaled = np.where(x[seen] < 0, x[seen] * penalty, x[seen] / penalty)
                x[seen] = scaled - counts.astype(np.float32) * frequency - np.float32(presence_scores[b])
                logits[t] = (x / temperatures[b]).astype(logits.dtype)
                logits[t, bad] = logits.dtype.type(-1e10)


def _within(ids: ndarray, vocab: int) -> ndarray:
    return ids[(ids >= 0) & (ids < vocab)]
