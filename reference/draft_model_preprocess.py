"""The draft model's rows at the start of a round, with the rollback of what it ran on its own tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._draft_model import (
    INT32_MAX,
    require_accepted,
    require_columns,
    require_in,
    require_model_steps,
    require_prompts,
)
from opgold.reference.schema import In, InOut


def draft_model_preprocess(
    draft_tokens: InOut[Int64[ndarray, "bsz max_draft"]],
    input_ids: InOut[Int64[ndarray, "bsz max_len"]],
    stop_flags: InOut[Bool[ndarray, "bsz"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: InOut[Int32[ndarray, "bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "bsz"]],
    step_idx: InOut[Int64[ndarray, "bsz"]],
    not_need_stop: InOut[Bool[ndarray, "1"]],
    is_block_step: InOut[Bool[ndarray, "bsz"]],
    batch_drop: InOut[Bool[ndarray, "bsz"]],
    pre_ids: InOut[Int64[ndarray, "bsz max_history"]],
    mask_rollback: InOut[Int32[ndarray, "bsz"]],
    recompute_token_num: InOut[Int32[ndarray, "bsz"]],
    accept_tokens: In[Int64[ndarray, "bsz max_accept"]],
    accept_num: In[Int32[ndarray, "bsz"]],
    base_model_seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    base_model_seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    base_model_seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    base_model_step_idx: In[Int64[ndarray, "bsz"]],
    base_model_stop_flags: In[Bool[ndarray, "bsz"]],
    base_model_is_block_step: In[Bool[ndarray, "bsz"]],
    base_model_draft_tokens: InOut[Int64[ndarray, "bsz base_draft"]],
    *,
    num_model_step: int,
    truncate_first_token: bool,
    splitwise_prefill: bool,
    kvcache_scheduler_v1: bool,
) -> None:
    """Prepare every slot for the draft model, which re-runs what the base (target) model accepted. Lengths in tokens.

    Columns 1.. of the base draft row become -1. A row whose base row stopped on a block sets `is_block_step` (scheduler
    V1) or `batch_drop` (V0). A row is live unless the base row stopped or the row is dropped. `not_need_stop`: some row
    is live. Not live: stopped, and its three lengths become 0. Live, by the encoder length on entry:
    prompt chunk: not stopped; the first accepted token goes to history column 0 and to the chunk's last column or,
    without `truncate_first_token`, behind it, so that one more token runs.
    decode: the accepted tokens become the draft row's first and the history's end, at the base step; so many run. A
    stopped row takes the base row's cached length and step less them, and runs again; another goes back Y =
    min(recompute_token_num, max(base tokens - 2, 0)), what it self-fed last round. Either way `mask_rollback` += Y,
    `recompute_token_num` becomes `num_model_step` - 1 and, under V1, `is_block_step` ends unless the base row's stands.
    On a prefill instance (`splitwise_prefill`) only prompt chunks are live, history column 0 is kept, and neither base
    rows, blocks and drops are looked at nor base draft rows cleared. `base_model_seq_lens_encoder` is not looked at.

    Raises ValueError for live rows only: a negative length, count or step, a chunk or accepted tokens past their row,
    fewer steps or cached tokens than are taken off, a rollback past int32; and for `num_model_step` below 1.
    Source: https://github.com/PaddlePaddle/FastDeploy/pull/5738.
    """
    live = seq_lens_encoder > 0 if splitwise_prefill else ~(base_model_stop_flags | batch_drop)
    prompt, decode = live & (seq_lens_encoder > 0), live & (seq_lens_encoder <= 0)
    self_fed = np.minimum(recompute_token_num, np.maximum(base_model_seq_lens_this_time, 2) - 2).astype(np.int32)
    behind, resumed, going_on = int(not truncate_first_token), decode & stop_flags, decode & ~stop_flags
    require_model_steps(num_model_step)
    require_prompts(prompt, seq_lens_encoder, input_ids, accept_tokens, appended=behind)
    require_columns(prompt & (not splitwise_prefill), "pre_ids", pre_ids, 1)
    require_in(decode, seq_lens_encoder >= 0, "seq_lens_encoder", seq_lens_encoder, "a length of at least 0")
    require_accepted(
        decode,
        accept_num=accept_num,
        accept_tokens=accept_tokens,
        draft_tokens=draft_tokens,
        pre_ids=pre_ids,
        step_name="base_model_step_idx",
        step_idx=base_model_step_idx,
    )
    for argument, counts in {
        "base_model_seq_lens_this_time": base_model_seq_lens_this_time,
        "recompute_token_num": recompute_token_num,
    }.items():
        require_in(decode, counts >= 0, argument, counts, "at least 0")
    base_cached, rollback = base_model_seq_lens_decoder, mask_rollback.astype(np.int64) + self_fed
    require_in(resumed, base_cached >= accept_num, "base_model_seq_lens_decoder", base_cached, "at least accept_num")
    for argument, counts in {"seq_lens_decoder": seq_lens_decoder, "step_idx": step_idx}.items():
        require_in(going_on, counts >= self_fed, argument, counts, "at least the tokens to run again")
    require_in(decode, rollback <= INT32_MAX, "mask_rollback", mask_rollback, "within int32 with what is added")

    not_need_stop[0] = live.any()
    for b, accepted in enumerate(accept_num):
        if not splitwise_prefill:
            base_model_draft_tokens[b, 1:] = -1
            if base_model_stop_flags[b] and base_model_is_block_step[b]:
                (is_block_step if kvcache_scheduler_v1 else batch_drop)[b] = True
        if prompt[b]:
            end = seq_lens_encoder[b] + behind
            input_ids[b, end - 1] = accept_tokens[b, 0]
            seq_lens_this_time[b] = end
            if not splitwise_prefill:
                pre_ids[b, 0] = accept_tokens[b, 0]
        elif decode[b]:
            end = base_model_step_idx[b]
            draft_tokens[b, :accepted] = accept_tokens[b, :accepted]
            pre_ids[b, end - accepted : end] = accept_tokens[b, :accepted]
            seq_lens_this_time[b] = accepted
            if stop_flags[b]:
                seq_lens_decoder[b] = base_model_seq_lens_decoder[b] - accepted
                step_idx[b] = end - accepted
            else:
                seq_lens_decoder[b] -= self_fed[b]
                step_idx[b] -= self_fed[b]
            mask_rollback[b] = rollback[b]
            recompute_token_num[b] = num_model_step - 1
            if kvcache_scheduler_v1 and not base_model_is_block_step[b]:
                is_block_step[b] = False
        else:
            seq_lens_this_time[b] = seq_lens_encoder[b] = seq_lens_decoder[b] = 0
        stop_flags[b] = not live[b]
