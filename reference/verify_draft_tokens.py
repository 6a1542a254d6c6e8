"""Which drafts of each slot are accepted, and the token that follows them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64
from numpy import ndarray

from opgold.reference._verify import (
    drawn,
    emitted,
    given,
    listed,
    matched,
    require_candidates,
    require_rows,
    require_uniforms,
    require_window,
)
from opgold.reference.schema import In, InOut

TOP_P, GREEDY, TARGET_MATCH = range(3)


def verify_draft_tokens(
    step_output_ids: InOut[Int64[ndarray, "max_bsz width"]],
    step_output_len: InOut[Int32[ndarray, "max_bsz"]],
    step_input_ids: In[Int64[ndarray, "max_bsz width"]],
    target_tokens: In[Int64[ndarray, "output_rows"]] | None,
    candidate_ids: In[Int64[ndarray, "output_rows candidates"]] | None,
    candidate_scores: In[Float32[ndarray, "output_rows candidates"]] | None,
    candidate_lens: In[Int32[ndarray, "output_rows"]] | None,
    topp: In[Float32[ndarray, "max_bsz"]],
    stop_flags: In[Bool[ndarray, "max_bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "max_bsz"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    end_tokens: In[Int64[ndarray, "end_tokens"]],
    is_block_step: In[Bool[ndarray, "max_bsz"]],
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]],
    reasoning_status: In[Int32[ndarray, "max_bsz"]],
    max_dec_len: In[Int64[ndarray, "max_bsz"]],
    step_idx: In[Int64[ndarray, "max_bsz"]],
    uniforms: In[Float32[ndarray, "bsz"]] | None = None,
    *,
    max_seq_len: int,
    verify_window: int,
    verify_strategy: int,
    reject_all: bool,
    accept_all: bool,
) -> None:
    """Emit the accepted drafts of each live slot and one token more; `step_output_len` counts what is emitted.

    A slot of the step is live if neither stopped nor blocked. Its drafts are columns 1 .. n-1 of its input row, n its
    `seq_lens_this_time`; row i of its output rows verifies draft i+1. Strategies 1 (greedy) and 2 (target match) accept
    a draft that is its row's target; strategy 0 (top-p) one that is among the first `candidate_lens` candidates (below
    0 is 0, above their count all), or the second candidate, if the next `verify_window` drafts are first candidates,
    which then pass with it. `accept_all` accepts all; `reject_all`, an encoder length and reasoning status 1 accept
    none, and come first. Behind the accepted drafts comes their row's target or, by strategy 0, the first candidate at
    which the float32 sum of scores by rank reaches `uniforms[b] * topp[b]`, and the first one if none does. Emission
    stops at an end token, and at the token that brings the step to `max_dec_len`, which becomes `end_tokens[0]` if it
    is none itself. A slot without tokens, one not live and one that the step does not have emit nothing. Cells that are
    not emitted stay. `step_idx` is the step before; `max_seq_len` is not looked at.

    Raises ValueError for an unknown strategy or one without its inputs, a negative window; in live slots for lengths or
    rows past a buffer, sums that do not give a slot its rows (one of a prompt, else n), a limit in reach without end
    token, a uniform outside 0 .. 1. Source: the newest GPU form of the op; a stopped slot counts exactly, and
    verification goes on behind a window.
    """
    bsz = len(seq_lens_this_time)
    require_window(verify_window, len(stop_flags), bsz)
    live = ~stop_flags[:bsz] & ~is_block_step[:bsz]
    by = f"verify_strategy {verify_strategy}"
    if verify_strategy == TOP_P:
        ids, scores = given("candidate_ids", candidate_ids, by), given("candidate_scores", candidate_scores, by)
        lens, chances = given("candidate_lens", candidate_lens, by), given("uniforms", uniforms, by)
        require_candidates("candidate_ids", ids)
        require_uniforms(live, chances)
    elif verify_strategy in (GREEDY, TARGET_MATCH):
        targets = given("target_tokens", target_tokens, by)
    else:
        raise ValueError(f"verify_strategy: {verify_strategy}, expected 0 (top-p), 1 (greedy) or 2 (target match)")
    require_rows(
        live,
        tokens=step_input_ids,
        seq_lens_encoder=seq_lens_encoder,
        seq_lens_this_time=seq_lens_this_time,
        cu_seqlens_q_output=cu_seqlens_q_output,
        output_rows=len(ids) if verify_strategy == TOP_P else len(targets),
        step_idx=step_idx,
        max_dec_len=max_dec_len,
        end_tokens=end_tokens,
    )

    step_output_len[:] = 0
    for b in np.flatnonzero(live & (seq_lens_this_time > 0)):
        first, drafts = cu_seqlens_q_output[b], step_input_ids[b, 1 : seq_lens_this_time[b]]
        if reject_all or seq_lens_encoder[b] > 0 or reasoning_status[b] == 1:
            accepted = 0
        elif accept_all:
            accepted = len(drafts)
        elif verify_strategy == TOP_P:
            accepted = listed(drafts, ids[first:], lens[first:], verify_window, resume=True)
        else:
            accepted = matched(drafts, targets[first:])
        row = first + accepted
        if verify_strategy == TOP_P:
            final = drawn(ids[row], scores[row], lens[row], chances[b], topp[b])
        else:
            final = int(targets[row])
        tokens, _ = emitted([*drafts[:accepted], final], step_idx[b], max_dec_len[b], end_tokens, keep_ends=True)
        step_output_ids[b, : len(tokens)] = tokens
        step_output_len[b] = len(tokens)
