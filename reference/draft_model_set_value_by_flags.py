"""The history of a draft row after its step."""

from __future__ import annotations

from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._draft_model import require_columns, require_in
from opgold.reference.schema import In, InOut


def draft_model_set_value_by_flags(
    draft_tokens: In[Int64[ndarray, "bsz max_draft"]],
    pre_ids_all: InOut[Int64[ndarray, "bsz max_history"]],
    stop_flags: In[Bool[ndarray, "bsz"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    step_idx: In[Int64[ndarray, "bsz"]],
) -> None:
    """Write the tokens that each running row ran into its history, of which they are the end at column `step_idx`.

    A row acts if it has tokens and is not stopped. At a step above 1 its first `seq_lens_this_time` draft tokens end at
    column `step_idx`; at step 1 draft token 0 goes to column 1; at other steps nothing is written. Then it has 1 token.
    `seq_lens_encoder` and `seq_lens_decoder` are not looked at.

    Raises ValueError for rows that act: negative tokens, more of them than the draft row holds or than fit into the
    history up to `step_idx`, a step past the history. Source: the op, which no caller uses today.
    """
    now, width, columns = seq_lens_this_time, pre_ids_all.shape[1], draft_tokens.shape[1]
    acting = (now != 0) & ~stop_flags
    require_in(acting, now >= 0, "seq_lens_this_time", now, "a length of at least 0")
    require_in(
        acting & (step_idx > 1), now <= columns, "seq_lens_this_time", now, f"at most the {columns} draft tokens"
    )
    require_in(acting & (step_idx > 1), now - 1 <= step_idx, "seq_lens_this_time", now, "at most step_idx and 1")
    require_in(acting, step_idx < max(width, 1), "step_idx", step_idx, f"below the {width} columns of pre_ids_all")
    require_columns(acting & (step_idx == 1), "draft_tokens", draft_tokens, 1)

    for b in acting.nonzero()[0]:
        step = step_idx[b]
        if step > 1:
            pre_ids_all[b, step + 1 - now[b] : step + 1] = draft_tokens[b, : now[b]]
        elif step == 1:
            pre_ids_all[b, 1] = draft_tokens[b, 0]
        now[b] = 1
