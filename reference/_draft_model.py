"""Preconditions that the draft-model ops share. Only the rows that a caller names are held to them."""

from __future__ import annotations

import numpy as np

from opgold.reference._contract import require

INT32_MAX = np.iinfo(np.int32).max


def require_in(rows: np.ndarray, holds: np.ndarray, argument: str, values: np.ndarray, expected: str) -> None:
    """Raise for the first of `rows` where `holds` is false."""
    require(~rows | holds, argument, values, expected)


def require_columns(rows: np.ndarray, argument: str, array: np.ndarray, needed: int) -> None:
    """`array` has the columns that any of `rows` needs."""
    if rows.any() and array.shape[1] < needed:
        raise ValueError(f"{argument}: has {array.shape[1]} columns, expected at least {needed}")


def require_prompts(
    rows: np.ndarray, seq_lens_encoder: np.ndarray, input_ids: np.ndarray, accept_tokens: np.ndarray, *, appended: int
) -> None:
    """Prompt chunks, and `appended` more tokens, fit their row; there is a token to put at their end."""
    columns = input_ids.shape[1]
    fits = seq_lens_encoder <= columns - appended
    expected = f"at most the {columns} columns of input_ids" + " less one" * appended
    require_in(rows, fits, "seq_lens_encoder", seq_lens_encoder, expected)
    require_columns(rows, "accept_tokens", accept_tokens, 1)


def require_accepted(
    rows: np.ndarray,
    *,
    accept_num: np.ndarray,
    accept_tokens: np.ndarray,
    draft_tokens: np.ndarray,
    pre_ids: np.ndarray,
    step_name: str,
    step_idx: np.ndarray,
) -> None:
    """Accepted tokens fit the draft row, and the history of which they are the end."""
    columns = min(accept_tokens.shape[1], draft_tokens.shape[1])
    fits = (accept_num >= 0) & (accept_num <= columns)
    expected = f"0 to {columns}, the columns of accept_tokens and draft_tokens"
    require_in(rows, fits, "accept_num", accept_num, expected)
    require_in(rows, step_idx >= accept_num, step_name, step_idx, "at least accept_num")
    width = pre_ids.shape[1]
    require_in(rows, step_idx <= width, step_name, step_idx, f"at most the {width} columns of pre_ids")


def require_running(
    rows: np.ndarray,
    *,
    draft_tokens: np.ndarray,
    pre_ids: np.ndarray,
    seq_lens_this_time: np.ndarray,
    seq_lens_encoder: np.ndarray,
    seq_lens_decoder: np.ndarray,
    step_idx: np.ndarray,
    moving: np.ndarray,
) -> None:
    """Rows run tokens of a prompt or of a draft row. Those of them that are `moving` advance within their history."""
    this, enc, dec = (a.astype(np.int64) for a in (seq_lens_this_time, seq_lens_encoder, seq_lens_decoder))
    require_in(rows, this > 0, "seq_lens_this_time", this, "at least 1 in a row that is not stopped")
    require_in(rows, enc >= 0, "seq_lens_encoder", enc, "a length of at least 0")
    require_in(rows, dec >= 0, "seq_lens_decoder", dec, "a length of at least 0")
    require_in(rows, (enc > 0) | (dec > 0), "seq_lens_decoder", dec, "a length: the row has no encoder length either")
    decode = rows & (enc == 0)
    columns = draft_tokens.shape[1]
    require_in(decode, this <= columns, "seq_lens_this_time", this, f"at most the {columns} columns of draft_tokens")
    longer = dec + np.where(enc > 0, enc, this)
    require_in(rows & moving, longer <= INT32_MAX, "seq_lens_decoder", dec, "within int32 with this step's tokens")
    require_in(rows, (step_idx >= 0) & (step_idx < 2**63 - 1), "step_idx", step_idx, "a count of tokens")
    require_columns(rows, "draft_tokens", draft_tokens, 1)
    require_columns(rows & (enc > 0), "pre_ids", pre_ids, 2)
    width = pre_ids.shape[1]
    inside = step_idx < width - this
    require_in(decode & moving, inside, "step_idx", step_idx, f"below the {width} columns of pre_ids, tokens added")


def require_substep(substep: int, base_model_draft_tokens: np.ndarray) -> None:
    """The substep's column, `substep + 1`, is one of the target model's draft row."""
    width = base_model_draft_tokens.shape[1]
    if not 0 <= substep < width - 1:
        raise ValueError(f"substep: {substep}, expected 0 to {width - 2}: base_model_draft_tokens has {width} columns")


def require_model_steps(num_model_step: int) -> None:
    if not 1 <= num_model_step <= INT32_MAX:
        raise ValueError(f"num_model_step: {num_model_step}, expected 1 to {INT32_MAX}")
