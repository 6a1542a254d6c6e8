"""What stands behind a step's rows in the buffers that a larger graph reads. Source: the Python glue, section 4.4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

IDS, HIDDEN, LAST = "ids", "hidden", "last"  # demands that are no single value


@dataclass(frozen=True)
class Step:
    """A step of `tokens` in `rows` live rows that replays the graph of `size` tokens and `captured_rows` rows.

    `output_tokens` counts the rows given to sampling.
    """

    tokens: int
    rows: int
    size: int
    captured_rows: int
    output_tokens: int = 0

    def __post_init__(self) -> None:
        for name, least, most in (
            ("tokens", 0, self.size),
            ("rows", 0, self.captured_rows),
            ("output_tokens", 0, self.tokens),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"{name}: {value}, expected {least} to {most}")


@dataclass(frozen=True)
class Tail:
    """Elements `start` to `stop` (excluded) of a buffer's first dimension, to the end if None, and what they hold:
    `value`; the element before `start` ("last"); a token id ("ids"); finite numbers ("hidden")."""

    start: int
    stop: int | None
    value: int | str


def required_tails(step: Step) -> dict[str, Tail]:
    """By buffer, what must stand behind the step's rows when the graph is replayed.

    A buffer that a batch lacks is not asked for. Ids are any valid token id, 2 where the glue fills them.
    """
    live, captured = step.rows, step.captured_rows
    lengths, sums = Tail(live, captured, 0), Tail(live + 1, captured + 1, LAST)
    return {
        "ids_remove_padding": Tail(step.tokens, step.size, IDS),
        "batch_id_per_token": Tail(step.tokens, step.size, -1),
        "seq_lens_this_time": lengths,
        "seq_lens_encoder": lengths,
        "seq_lens_decoder": lengths,
        "cu_seqlens_q": sums,
        "cu_seqlens_k": sums,
        "block_tables": Tail(live, None, -1),
        "attn_mask_offsets": Tail(2 * step.tokens, 2 * step.size, 0),
        "target_hidden_states": Tail(step.tokens, step.size, HIDDEN),
        "slot_mapping": Tail(step.tokens, step.size, -1),
        "batch_id_per_token_output": Tail(step.output_tokens, None, -1),
    }


def fill_tails(buffers: Mapping[str, np.ndarray], step: Step, *, token: int = 2) -> None:
    """Write what must stand behind the step's rows into the buffers that there are; hidden rows become 0.

    Raises ValueError for a buffer that is shorter than the graph reads.
    """
    for name, tail in required_tails(step).items():
        if name in buffers:
            buffer = buffers[name]
            if tail.stop is not None and len(buffer) < tail.stop:
                raise ValueError(f"{name}: {len(buffer)} elements, expected the {tail.stop} that the graph reads")
            others: dict[int | str, Any] = {LAST: buffer[tail.start - 1], IDS: token, HIDDEN: 0}
            buffer[tail.start : tail.stop] = others.get(tail.value, tail.value)
