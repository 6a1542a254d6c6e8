"""The reasoning phase of every slot, and the first answer token held to a list of allowed ones."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require
from opgold.reference._output_rows import require_history, require_layout, require_row_slots, require_slots
from opgold.reference.schema import Hidden, In, InOut

THINKING, BOUNDARY, FIRST_ANSWER, DONE = range(4)


def reasoning_phase_token_constraint(
    logits: InOut[Hidden[ndarray, "rows vocab"]],
    token_ids_all: In[Int64[ndarray, "slots max_model_len"]],
    prompt_lens: In[Int64[ndarray, "slots"]],
    stop_flags: In[Bool[ndarray, "slots"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "slots"]],
    step_idx: In[Int64[ndarray, "slots"]],
    allowed_tokens: In[Int64[ndarray, "allowed"]],
    reasoning_status: InOut[Int32[ndarray, "slots"]],
    batch_id_per_token_output: In[Int32[ndarray, "ids"]],
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]],
    enable_thinking: In[Bool[ndarray, "slots"]],
    *,
    think_end_id: int,
    line_break_id: int,
    history_layout: int = 0,
) -> None:
    """Advance each slot's status (0 thinking, 1 boundary, 2 first answer token, 3 done), then mask.

    Stopped slots and status 3 stay. With END and LB the two attributes and "tail" the last four generated tokens or
    fewer: 0 becomes 2 for a prompt chunk (encoder length) at step 0 with thinking disabled, else 1 if END is in the
    tail. A status then 1, with four tokens: 2 if they are LB END LB LB, else 3 if END is not among them. 2 becomes 3.

    The first packed row of a slot whose status is now 2, stopped or not, gets -1e10 (float16: -inf) for all tokens but
    `allowed_tokens`, if there are any; those outside the vocabulary are skipped. Other rows and rows of batch id -1 are
    untouched. History layout 0: `step_idx` tokens from `prompt_lens` on; layout 1: entries 0 to `step_idx` all count.
    Only the length of `seq_lens_this_time` is used. Copies and the constant are exact.

    Raises ValueError for ids that do not name their row's slot, another status, and history outside its row in slots of
    status 0 and 1 that are not stopped. Source: the newest form of the op, and its XPU kernel.
    """
    bsz, ids, starts = len(seq_lens_this_time), batch_id_per_token_output, cu_seqlens_q_output
    require_layout(history_layout)
    require_slots(len(prompt_lens), bsz)
    require_row_slots(ids, starts, len(logits))
    here = np.arange(len(prompt_lens)) < bsz
    status_fits = (reasoning_status >= THINKING) & (reasoning_status <= DONE)
    require(~here | status_fits, "reasoning_status", reasoning_status, "0, 1, 2 or 3")
    reads = here & ~stop_flags & (reasoning_status <= BOUNDARY)
    require_history(reads, prompt_lens, step_idx, "step_idx", token_ids_all.shape[1], history_layout)
    allowed = allowed_tokens[(allowed_tokens >= 0) & (allowed_tokens < logits.shape[1])]

    for b in range(bsz):
        if not stop_flags[b]:
            end = int(prompt_lens[b] + step_idx[b]) + history_layout
            tail = token_ids_all[b, max(int(prompt_lens[b]), end - 4) : end] if reads[b] else token_ids_all[b, :0]
            disabled = seq_lens_encoder[b] > 0 and step_idx[b] == 0 and not enable_thinking[b]
            reasoning_status[b] = _next(
                int(reasoning_status[b]), [int(t) for t in tail], disabled, think_end_id, line_break_id
            )
        first = starts[b]
        if reasoning_status[b] == FIRST_ANSWER and len(allowed_tokens) and 0 <= first < len(logits) and ids[first] == b:
            kept = logits[first, allowed]
            with np.errstate(over="ignore"):
                logits[first] = logits.dtype.type(-1e10)
            logits[first, allowed] = kept


def _next(status: int, tail: list[int], disabled: bool, end: int, line_break: int) -> int:
    """The status after `status`, where the last generated tokens are `tail`."""
    if status >= FIRST_ANSWER:
        return DONE
    if status == THINKING:
        if disabled:
            return FIRST_ANSWER
        if end not in tail:
            return THINKING
    if len(tail) < 4:
        return BOUNDARY
    if tail == [line_break, end, line_break, line_break]:
        return FIRST_ANSWER
    return BOUNDARY if end in tail else DONE
