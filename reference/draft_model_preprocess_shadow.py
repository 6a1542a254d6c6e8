"""The draft model's rows at the start of a round, all taken from the target model's."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._draft_model import (
    require_accepted,
    require_columns,
    require_in,
    require_model_steps,
    require_prompts,
)
from opgold.reference.schema import In, InOut


def draft_model_preprocess_shadow(
    draft_tokens: InOut[Int64[ndarray, "bsz max_draft"]],
    input_ids: InOut[Int64[ndarray, "bsz max_len"]],
    stop_flags: InOut[Bool[ndarray, "bsz"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: InOut[Int32[ndarray, "bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "bsz"]],
    step_idx: InOut[Int64[ndarray, "bsz"]],
    not_need_stop: InOut[Bool[ndarray, "1"]],
    pre_ids: InOut[Int64[ndarray, "bsz max_history"]],
    accept_tokens: In[Int64[ndarray, "bsz max_accept"]],
    accept_num: In[Int32[ndarray, "bsz"]],
    target_model_seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    target_model_seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    target_model_step_idx: In[Int64[ndarray, "bsz"]],
    target_model_stop_flags: In[Bool[ndarray, "bsz"]],
    max_dec_len: In[Int64[ndarray, "bsz"]],
    target_model_draft_tokens: InOut[Int64[ndarray, "bsz target_draft"]],
    *,
    num_model_step: int,
    is_splitwise_prefill: bool,
) -> None:
    """Prepare every slot for the draft model, which re-runs what the target model accepted. Lengths in tokens.

    Columns 1.. of the target draft row become -1. A row is skipped if the target row stopped or, except on a prefill
    instance (`is_splitwise_prefill`, which does nothing else), its step plus `num_model_step` reaches `max_dec_len`:
    it is stopped, its lengths and step become 0. Every other row is not stopped, and `not_need_stop` tells of one.
    prompt chunk (encoder length on entry): it runs whole, with the first accepted token in its last column and in
    history column 0; the step is the target's less 1 (-1 for a target at step 0).
    decode: the accepted tokens become the draft row's first and the history's end, at the target's step; cached length
    and step are the target's less them. What the row held before does not matter.
    `target_model_seq_lens_encoder` is not looked at.

    Raises ValueError for rows that are not skipped: a negative length, count or step, a chunk or accepted tokens past
    their row, fewer steps or cached tokens than are taken off; and for `num_model_step` below 1.
    Source: the newest form of draft_model_preprocess.
    """
    over = np.array(
        [int(t) + num_model_step >= m for t, m in zip(target_model_step_idx, max_dec_len, strict=True)], bool
    )
    live = ~(target_model_stop_flags | (over & (not is_splitwise_prefill)))
    prompt, decode = live & (seq_lens_encoder > 0), live & (seq_lens_encoder <= 0)
    cached, step = target_model_seq_lens_decoder, target_model_step_idx
    require_model_steps(num_model_step)
    require_prompts(prompt, seq_lens_encoder, input_ids, accept_tokens, appended=0)
    require_columns(prompt, "pre_ids", pre_ids, 1)
    require_in(prompt, step >= 0, "target_model_step_idx", step, "at least 0")
    require_in(decode, seq_lens_encoder >= 0, "seq_lens_encoder", seq_lens_encoder, "a length of at least 0")
    require_accepted(
        decode,
        accept_num=accept_num,
        accept_tokens=accept_tokens,
        draft_tokens=draft_tokens,
        pre_ids=pre_ids,
        step_name="target_model_step_idx",
        step_idx=step,
    )
    require_in(decode, cached >= accept_num, "target_model_seq_lens_decoder", cached, "at least accept_num")

    not_need_stop[0] = live.any()
    target_model_draft_tokens[:, 1:] = -1
    stop_flags[:] = ~live
    for b, accepted in enumerate(accept_num):
        if prompt[b]:
            pre_ids[b, 0] = input_ids[b, seq_lens_encoder[b] - 1] = accept_tokens[b, 0]
            seq_lens_this_time[b] = seq_lens_encoder[b]
            step_idx[b] = step[b] - 1
        elif decode[b]:
            draft_tokens[b, :accepted] = accept_tokens[b, :accepted]
            pre_ids[b, step[b] - accepted : step[b]] = accept_tokens[b, :accepted]
            seq_lens_this_time[b] = accepted
            seq_lens_decoder[b] = cached[b] - accepted
            step_idx[b] = step[b] - accepted
        else:
            seq_lens_this_time[b] = seq_lens_decoder[b] = seq_lens_encoder[b] = step_idx[b] = 0
