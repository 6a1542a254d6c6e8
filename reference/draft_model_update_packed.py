"""The draft model's rows after one of its steps, one sampled token for each row that ran."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require_capacity
from opgold.reference._draft_model import require_columns, require_in, require_running, require_substep
from opgold.reference.schema import In, InOut


def draft_model_update_packed(
    inter_next_tokens: In[Int64[ndarray, "sampled_rows"]],
    draft_tokens: InOut[Int64[ndarray, "bsz max_draft"]],
    pre_ids: InOut[Int64[ndarray, "bsz max_history"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: InOut[Int32[ndarray, "bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "bsz"]],
    step_idx: InOut[Int64[ndarray, "bsz"]],
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]],
    stop_flags: In[Bool[ndarray, "bsz"]],
    not_need_stop: InOut[Bool[ndarray, "1"]],
    max_dec_len: In[Int64[ndarray, "bsz"]],
    end_ids: In[Int64[ndarray, "end_tokens"]],
    base_model_draft_tokens: InOut[Int64[ndarray, "bsz base_draft"]],
    *,
    max_seq_len: int,
    substep: int,
) -> None:
    """Take each running row's sampled token as its next draft. Lengths and steps are in tokens.

    Only rows with tokens (`seq_lens_this_time` > 0 on entry) act; the k-th of them, stopped ones included, owns
    `inter_next_tokens[k]`, t. Let c be column `substep + 1` of the base draft row.
    stopped: -1 goes to c and to column 0 of the draft row; no tokens next, no encoder length.
    prompt chunk (encoder length): the cached length grows by it, which ends it, the step by 1; t goes to history column
    1, to column 0 of the draft row and, if the new step is below `max_dec_len`, to c, which else is kept.
    decode: if the step is `max_dec_len - 1` or more, c becomes -1 and the row is held, to run its first token again;
    else cached length and step grow by the row's tokens, and t goes to the new step's history column, to column 0 of
    the draft row and to c.
    Rows not stopped run one token next. `not_need_stop`: some row does. No end token stops a row.
    `cu_seqlens_q_output`, `end_ids` and `max_seq_len` are not looked at.

    Raises ValueError for rows not stopped: negative lengths, a ghost, a held prefill, tokens or steps past a buffer;
    for fewer sampled tokens than rows with tokens; for a substep without column. Source: the newest GPU form of
    draft_model_update, with ranks that do not hang on thread order.
    """
    acting = seq_lens_this_time > 0
    live, prompt = acting & ~stop_flags, seq_lens_encoder > 0
    waiting = ~stop_flags & ~acting
    ranks = np.cumsum(acting) - 1
    held = np.array([s >= int(m) - 1 for s, m in zip(step_idx.tolist(), max_dec_len, strict=True)], bool) & ~prompt
    require_substep(substep, base_model_draft_tokens)
    require_in(waiting, seq_lens_this_time == 0, "seq_lens_this_time", seq_lens_this_time, "a length of at least 0")
    require_in(waiting, ~prompt, "seq_lens_encoder", seq_lens_encoder, "0: the slot runs no tokens (a held prefill)")
    require_running(
        live,
        draft_tokens=draft_tokens,
        pre_ids=pre_ids,
        seq_lens_this_time=seq_lens_this_time,
        seq_lens_encoder=seq_lens_encoder,
        seq_lens_decoder=seq_lens_decoder,
        step_idx=step_idx,
        moving=~held,
    )
    require_columns(acting, "draft_tokens", draft_tokens, 1)
    require_capacity("inter_next_tokens", len(inter_next_tokens), acting.sum(), "one a row with tokens")

    column = base_model_draft_tokens[:, substep + 1]
    for b in np.flatnonzero(acting):
        token = inter_next_tokens[ranks[b]]
        if stop_flags[b]:
            draft_tokens[b, 0] = column[b] = -1
            seq_lens_encoder[b] = 0
        elif prompt[b]:
            seq_lens_decoder[b] += seq_lens_encoder[b]
            seq_lens_encoder[b] = 0
            step_idx[b] += 1
            pre_ids[b, 1] = draft_tokens[b, 0] = token
            if step_idx[b] < max_dec_len[b]:
                column[b] = token
        elif held[b]:
            column[b] = -1
        else:
            seq_lens_decoder[b] += seq_lens_this_time[b]
            step_idx[b] += seq_lens_this_time[b]
            pre_ids[b, step_idx[b]] = draft_tokens[b, 0] = column[b] = token
        seq_lens_this_time[b] = not stop_flags[b]
    not_need_stop[0] = live.any()
