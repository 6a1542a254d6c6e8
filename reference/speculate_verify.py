"""The older verifying op: it also advances steps and stops slots, and its modes are attributes."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require
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


def speculate_verify(
    sampled_token_ids: In[Int64[ndarray, "output_rows"]] | None,
    accept_tokens: InOut[Int64[ndarray, "max_bsz width"]],
    accept_num: InOut[Int32[ndarray, "max_bsz"]],
    step_idx: InOut[Int64[ndarray, "max_bsz"]],
    stop_flags: InOut[Bool[ndarray, "max_bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "max_bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "max_bsz"]],
    draft_tokens: In[Int64[ndarray, "max_bsz width"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    verify_tokens: In[Int64[ndarray, "output_rows candidates"]] | None,
    verify_scores: In[Float32[ndarray, "output_rows candidates"]] | None,
    max_dec_len: In[Int64[ndarray, "max_bsz"]],
    end_tokens: In[Int64[ndarray, "end_tokens"]],
    is_block_step: In[Bool[ndarray, "max_bsz"]],
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]],
    actual_candidate_len: In[Int32[ndarray, "output_rows"]] | None,
    actual_draft_token_nums: In[Int32[ndarray, "max_bsz"]],
    topp: In[Float32[ndarray, "max_bsz"]],
    reasoning_status: In[Int32[ndarray, "max_bsz"]],
    uniforms: In[Float32[ndarray, "bsz"]] | None = None,
    *,
    max_seq_len: int,
    verify_window: int,
    enable_topp: bool,
    benchmark_mode: bool,
    accept_all_drafts: bool,
    use_target_sampling: bool,
    use_topk: bool,
    prefill_one_step_stop: bool,
) -> None:
    """Accept drafts of each live slot and one token more, count them, advance the step by them, stop what has ended.

    A slot of the step is live if neither stopped nor blocked; nothing of the others changes, `accept_num` included. Its
    drafts are columns 1 .. n-1 of its draft row, n its `seq_lens_this_time`; row i of its output rows verifies draft
    i+1. With `use_target_sampling` a draft passes that is its row's sampled id, else with `use_topk` one that is the
    first candidate, else one among the first `actual_candidate_len` candidates (below 0 is 0, above their count all),
    or the second candidate, if the next `verify_window` drafts are first candidates; these pass with it, and then
    verification ends. `accept_all_drafts` accepts all; `benchmark_mode`, an encoder length and reasoning status 1
    accept none, and come first. The row behind the accepted drafts gives its sampled id or, with `enable_topp`, the
    first candidate at which the float32 sum of scores by rank reaches `uniforms[b] * topp[b]`, else its first
    candidate. An end token ends the slot, and so does the token that brings its step to `max_dec_len`, which becomes
    `end_tokens[0]` whatever it is. With `prefill_one_step_stop` every live slot that runs tokens stops. A live slot
    without tokens accepts none. Cells behind the accepted tokens stay. `max_seq_len`, `seq_lens_decoder` and
    `actual_draft_token_nums` are not looked at.

    Raises ValueError for a mode without its inputs, a negative window; in live slots for lengths or rows past a buffer,
    sums that do not give a slot its rows (one of a prompt, else n), a limit in reach without end token, a step without
    room for the tokens, a uniform outside 0 .. 1. Source: the GPU op, its environment variables as attributes; counts
    are exact where it stops inside a window.
    """
    bsz = len(seq_lens_this_time)
    require_window(verify_window, len(stop_flags), bsz)
    live = ~stop_flags[:bsz] & ~is_block_step[:bsz]
    if use_target_sampling:
        targets = given("sampled_token_ids", sampled_token_ids, "use_target_sampling")
    else:
        ids = given("verify_tokens", verify_tokens, "candidates")
        lens = given("actual_candidate_len", actual_candidate_len, "candidates")
        require_candidates("verify_tokens", ids)
        if enable_topp:
            scores = given("verify_scores", verify_scores, "enable_topp")
            chances = given("uniforms", uniforms, "enable_topp")
            require_uniforms(live, chances)
    require_rows(
        live,
        tokens=draft_tokens,
        seq_lens_encoder=seq_lens_encoder,
        seq_lens_this_time=seq_lens_this_time,
        cu_seqlens_q_output=cu_seqlens_q_output,
        output_rows=len(targets) if use_target_sampling else len(ids),
        step_idx=step_idx,
        max_dec_len=max_dec_len,
        end_tokens=end_tokens,
    )
    rows = np.where(live, np.diff(cu_seqlens_q_output.astype(np.int64)), 0)
    require(step_idx[:bsz] <= np.iinfo(np.int64).max - rows, "step_idx", step_idx[:bsz], "room for the slot's tokens")

    accept_num[:bsz][live & (seq_lens_this_time == 0)] = 0
    for b in np.flatnonzero(live & (seq_lens_this_time > 0)):
        first, drafts = cu_seqlens_q_output[b], draft_tokens[b, 1 : seq_lens_this_time[b]]
        if benchmark_mode or seq_lens_encoder[b] > 0 or reasoning_status[b] == 1:
            accepted = 0
        elif accept_all_drafts:
            accepted = len(drafts)
        elif use_target_sampling:
            accepted = matched(drafts, targets[first:])
        elif use_topk:
            accepted = matched(drafts, ids[first:, 0])
        else:
            accepted = listed(drafts, ids[first:], lens[first:], verify_window, resume=False)
        row = first + accepted
        final = targets[row] if use_target_sampling else ids[row, 0]
        if enable_topp and not use_target_sampling:
            final = drawn(ids[row], scores[row], lens[row], chances[b], topp[b])
        tokens, ended = emitted([*drafts[:accepted], final], step_idx[b], max_dec_len[b], end_tokens, keep_ends=False)
        accept_tokens[b, : len(tokens)] = tokens
        accept_num[b] = len(tokens)
        step_idx[b] += len(tokens)
        stop_flags[b] = ended or prefill_one_step_stop
