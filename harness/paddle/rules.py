"""What of a golden model's result is not compared with a module that departs from it in a known way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
Rule = Callable[[Mapping[str, Any], Arrays], Arrays]


def length_of_ended_rows(inputs: Mapping[str, Any], after: Arrays) -> Arrays:
    """verify_draft_tokens: the length, and the token behind it, of a row whose last token is an end token: a module may
    count one more where a draft ended the row."""
    lengths, tokens = after["step_output_len"], after["step_output_ids"]
    last = tokens[np.arange(len(lengths)), np.maximum(lengths - 1, 0)] if tokens.size else np.zeros(len(lengths))
    ended = (lengths > 0) & np.isin(last, inputs["end_tokens"])
    return {"step_output_len": ended}


RULES: dict[str, Rule] = {"length_of_ended_rows": length_of_ended_rows}
