"""Metamorphic relations: how a change of the inputs must change the outputs, whatever the op computes.

A strategy module declares how its arguments lie along the batch (`LAYOUT`); the relations follow from that alone, so
they hold a golden model to something that it did not write itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from opgold.cases.sample import Sample
from opgold.cases.slots import prefix_sum

Arrays = Mapping[str, Any]
Lengths = Callable[[Arrays], np.ndarray]

INSERTED = -1  # in an order: an idle slot that the original batch does not have


class Axis(Protocol):
    """How the first dimension of an array lies along the batch."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        """The array of the batch whose slot k is the slot `order[k]` of the batch that `inputs` describes."""


@dataclass(frozen=True)
class PerSlot:
    """One row a slot; an inserted idle slot gets rows of `idle`. Rows behind the last slot's stay behind."""

    idle: int = 0

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        rows = np.full((len(order), *array.shape[1:]), self.idle, array.dtype)
        for new, old in enumerate(order):
            if old != INSERTED:
                rows[new] = array[old]
        behind = array[len(order) - order.count(INSERTED) :]
        return np.concatenate([rows, behind]) if len(behind) else rows


@dataclass(frozen=True)
class Prefix:
    """A prefix sum over slots, element 0 included."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        return prefix_sum(PerSlot().reorder(np.diff(array), order, inputs)).astype(array.dtype)


@dataclass(frozen=True)
class Packed:
    """Rows of all slots, slot after slot, `rows` rows a length; what stands behind the last slot stays behind.

    `slot_ids`: the values are slot numbers, and are renamed; negative ones stay.
    """

    lengths: Lengths
    rows: int = 1
    slot_ids: bool = False

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        starts = prefix_sum(self.lengths(inputs)) * self.rows
        parts = [array[starts[old] : starts[old + 1]] for old in order if old != INSERTED]
        if self.slot_ids:
            kept = [new for new, old in enumerate(order) if old != INSERTED]
            parts = [np.where(part < 0, part, new).astype(part.dtype) for new, part in zip(kept, parts, strict=True)]
        return np.concatenate([*parts, array[starts[-1] :]])


@dataclass(frozen=True)
class Whole:
    """Does not depend on the order of slots."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        return array.copy()


Layout = Mapping[str, Axis]


@dataclass(frozen=True)
class Relation:
    """`transform` makes another sample, `expect` its outputs from the original's.

    Both get the generator seeded for the case, in the same state. `transform` returns None where the relation does not
    apply. Outputs hold every written argument, in-place ones included; one that `expect` leaves out is not compared.
    """

    name: str
    transform: Callable[[Sample, np.random.Generator], Sample | None]
    expect: Callable[[Sample, Arrays, np.random.Generator], Arrays]


def reorder(arrays: Arrays, layout: Layout, order: Sequence[int], inputs: Arrays) -> dict[str, Any]:
    """All of `arrays` in another order of slots. Arguments without an axis are passed on."""
    return {
        name: layout[name].reorder(value, order, inputs) if isinstance(value, np.ndarray) and name in layout else value
        for name, value in arrays.items()
    }


Choice = Callable[[int, np.random.Generator], list[int]]


def _reordering(name: str, layout: Layout, slots: str, choose: Choice) -> Relation:
    def order_of(sample: Sample, rng: np.random.Generator) -> list[int]:
        lengths = sample.inputs[slots]
        assert isinstance(lengths, np.ndarray)
        return choose(len(lengths), rng)

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        return replace(sample, inputs=reorder(sample.inputs, layout, order_of(sample, rng), sample.inputs))

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        return reorder(outputs, layout, order_of(sample, rng), sample.inputs)

    return Relation(name, transform, expect)


def permute_slots(layout: Layout, slots: str) -> Relation:
    """Slots in another order give the same rows, in that order. `slots` names an input of [bsz]."""
    return _reordering("permute slots", layout, slots, lambda bsz, rng: [int(b) for b in rng.permutation(bsz)])


def insert_idle_slots(layout: Layout, slots: str) -> Relation:
    """Idle slots before, between and behind the others change nothing for those."""

    def choose(bsz: int, rng: np.random.Generator) -> list[int]:
        order = list(range(bsz))
        for _ in range(3):
            order.insert(int(rng.integers(0, len(order) + 1)), INSERTED)
        return order

    return _reordering("insert idle slots", layout, slots, choose)


def grow(name: str, inputs: Callable[[Sample, int], Sample], fill: Arrays, *, rows: int = 1) -> Relation:
    """More capacity behind the last row adds only filler.

    `inputs(sample, extra)` grows it; `fill` is what each output gains, `rows` rows for each extra one.
    """

    def extra(rng: np.random.Generator) -> int:
        return int(rng.integers(1, 40))

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        return inputs(sample, extra(rng))

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        count = extra(rng)
        grown = dict(outputs)
        for output, filler in fill.items():
            before = outputs[output]
            assert isinstance(before, np.ndarray)
            grown[output] = np.concatenate([before, np.full((count * rows, *before.shape[1:]), filler, before.dtype)])
        return grown

    return Relation(name, transform, expect)


def unread(name: str, change: Callable[[Arrays, np.random.Generator], Arrays | None]) -> Relation:
    """What an op must not look at changes no output. `change` gives the inputs that it replaces, or None for none."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        changed = change(sample.inputs, rng)
        return None if changed is None else replace(sample, inputs={**sample.inputs, **changed})

    return Relation(name, transform, lambda sample, outputs, rng: outputs)


def agrees(name: str, expect: Callable[[Arrays], Arrays]) -> Relation:
    """Outputs are what `expect` works out from the inputs in another way."""
    return Relation(name, lambda sample, rng: sample, lambda sample, outputs, rng: expect(sample.inputs))


def holds(name: str, witness: str, condition: Callable[[Arrays, Arrays], bool]) -> Relation:
    """Inputs and outputs satisfy `condition`. Where they do not, every element of the output `witness` is reported."""

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        return {} if condition(sample.inputs, outputs) else {witness: ~np.asarray(outputs[witness])}

    return Relation(name, lambda sample, rng: sample, expect)
