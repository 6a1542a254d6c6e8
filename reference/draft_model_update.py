"""The draft model's rows after one of its steps, stopping on end tokens and on length."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require
from opgold.reference._draft_model import require_columns, require_in, require_running, require_substep
from opgold.reference.schema import In, InOut


def draft_model_update(
    inter_next_tokens: In[Int64[ndarray, "output_rows"]],
    draft_tokens: InOut[Int64[ndarray, "bsz max_draft"]],
    pre_ids: InOut[Int64[ndarray, "bsz max_history"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: InOut[Int32[ndarray, "bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "bsz"]],
    step_idx: InOut[Int64[ndarray, "bsz"]],
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]],
    stop_flags: InOut[Bool[ndarray, "bsz"]],
    not_need_stop: InOut[Bool[ndarray, "1"]],
    max_dec_len: In[Int64[ndarray, "bsz"]],
    end_ids: In[Int64[ndarray, "end_tokens"]],
    base_model_draft_tokens: InOut[Int64[ndarray, "bsz base_draft"]],
    *,
    max_seq_len: int,
    substep: int,
    prefill_one_step_stop: bool,
) -> None:
    """Take each row's last sampled token as its next draft. Lengths and steps are in tokens.

    Row b's sampled tokens start at `inter_next_tokens[cu_seqlens_q_output[b]]`: one for a prompt chunk (encoder
    length), else one for each of `seq_lens_this_time[b]`. Its last, t, goes to column 0 of the draft row and to column
    `substep + 1` of the base draft row. A chunk adds its encoder length to the cached length, which ends it, and 1 to
    the step, and puts t into history column 1; a decode row adds its tokens to both, and t goes to the new history end,
    the step. The row stops if t is one of `end_ids`, or always with `prefill_one_step_stop`; t stays a draft. Else
    it stops if the step has reached `max_dec_len`, and `end_ids[0]` replaces t in the base draft row and goes to the
    draft row's column of the last token run (column 0 of a chunk). A row stopped on entry gets -1 in both draft rows. A
    stopped row runs 0 tokens next and has no encoder length, another runs 1. `not_need_stop`: some row is not stopped.
    `max_seq_len` is not looked at: callers hold it for older forms.

    Raises ValueError for rows not stopped: no tokens, no lengths, negative ones, tokens, step or columns past a buffer,
    a `cu_seqlens_q_output` that does not give a row its tokens; for a length stop without an end token; for a substep
    without column. Source: the XPU kernel of the op, and its GPU form before it lost end tokens.
    """
    live, prompt = ~stop_flags, seq_lens_encoder > 0
    rows = np.where(prompt, 1, seq_lens_this_time).astype(np.int64)
    starts, ends = cu_seqlens_q_output[:-1].astype(np.int64), cu_seqlens_q_output[1:].astype(np.int64)
    steps = [int(step) + int(run) for step, run in zip(step_idx, rows, strict=True)]
    require_substep(substep, base_model_draft_tokens)
    require_running(
        live,
        draft_tokens=draft_tokens,
        pre_ids=pre_ids,
        seq_lens_this_time=seq_lens_this_time,
        seq_lens_encoder=seq_lens_encoder,
        seq_lens_decoder=seq_lens_decoder,
        step_idx=step_idx,
        moving=live,
    )
    require_columns(stop_flags, "draft_tokens", draft_tokens, 1)
    within = (starts >= 0) & (ends <= len(inter_next_tokens))
    require_in(live, within, "cu_seqlens_q_output", starts, f"rows within the {len(inter_next_tokens)} sampled tokens")
    require_in(live, ends - starts == rows, "cu_seqlens_q_output", starts, "its successor higher by the row's tokens")
    tokens = [inter_next_tokens[ends[b] - 1] if live[b] else -1 for b in range(len(rows))]
    ended = np.array([prefill_one_step_stop or t in end_ids for t in tokens], bool)
    full = live & ~ended & np.array([step >= limit for step, limit in zip(steps, max_dec_len, strict=True)], bool)
    require(~full | (len(end_ids) > 0), "max_dec_len", max_dec_len, "above the step: there is no end token")

    for b, token in enumerate(tokens):
        draft_tokens[b, 0] = base_model_draft_tokens[b, substep + 1] = token
        if live[b]:
            seq_lens_decoder[b] += seq_lens_encoder[b] if prompt[b] else seq_lens_this_time[b]
            step_idx[b] = steps[b]
            pre_ids[b, 1 if prompt[b] else steps[b]] = token
            if full[b]:
                draft_tokens[b, rows[b] - 1] = base_model_draft_tokens[b, substep + 1] = end_ids[0]
        stop_flags[b] |= ended[b] or full[b]
        seq_lens_this_time[b] = not stop_flags[b]
        seq_lens_encoder[b] = 0
    not_need_stop[0] = not stop_flags.all()
