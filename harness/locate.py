"""Which slot an element belongs to, in words."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np

from opgold.cases.relations import Packed, PerSlot, Prefix
from opgold.cases.slots import describe, prefix_sum
from opgold.harness.case import Case

LENGTHS = ("seq_lens_this_time", "seq_len")


class IncompleteOp(ValueError):
    """An op that has a golden model and lacks one of its other files."""


def strategy(op: str) -> ModuleType:
    """The strategy module of an op. Raises IncompleteOp."""
    try:
        return importlib.import_module(f"opgold.cases.{op}")
    except ModuleNotFoundError as error:
        if error.name != f"opgold.cases.{op}":
            raise
        raise IncompleteOp(f"op {op} has a golden model and no strategy: write cases/{op}.py") from error


def slot_of(case: Case, argument: str, index: tuple[int, ...]) -> str | None:
    """ "slot 2 (decode, 3 tokens)" for an element of an argument; None where it belongs to no slot."""
    axis = strategy(case.op).LAYOUT.get(argument) if index else None
    if isinstance(axis, PerSlot):
        return _words(case, index[0])
    if isinstance(axis, Prefix):
        slot = _words(case, index[0])
        return f"the sum before {slot}" if slot else "the sum of all slots"
    return _packed_row(case, axis, index[0]) if isinstance(axis, Packed) else None


def _packed_row(case: Case, axis: Packed, row: int) -> str | None:
    try:
        starts = prefix_sum(axis.lengths(case.inputs)) * axis.rows
    except (ValueError, IndexError):
        return None  # hostile lengths
    if row >= starts[-1]:
        return "the tail behind the last slot"
    slot = int(np.searchsorted(starts, row, side="right")) - 1
    return f"{_words(case, slot)}, row {row - int(starts[slot])} of the slot"


def _words(case: Case, slot: int) -> str | None:
    def length(*names: str) -> int:
        for name in names:
            value = case.inputs.get(name)
            if isinstance(value, np.ndarray) and slot < len(value):
                return int(value[slot])
        return 0

    given = next((case.inputs[name] for name in LENGTHS if isinstance(case.inputs.get(name), np.ndarray)), None)
    if not isinstance(given, np.ndarray):
        return f"slot {slot}"
    if slot >= len(given):
        return None
    this = length(*LENGTHS)
    tokens = f"{this} token{'' if this == 1 else 's'}"
    if "seq_lens_encoder" not in case.inputs or "seq_lens_decoder" not in case.inputs:
        return f"slot {slot} ({tokens})"
    blocked = bool(length("is_block_step"))
    return f"slot {slot} ({describe(this, length('seq_lens_encoder'), length('seq_lens_decoder'), blocked)}, {tokens})"
