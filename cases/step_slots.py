"""Buffers of all slots, of which a step runs the first ones: how they lie along the batch, and what stands behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgold.cases.draft_rows import Fault, put
from opgold.cases.relations import Arrays, PerSlot, Prefix, Relation
from opgold.cases.sample import Sample

THIS = "seq_lens_this_time"


@dataclass(frozen=True)
class Slots(PerSlot):
    """One row a slot; those behind the step's slots, as many as `of` has, stay behind."""

    of: str = THIS

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        bsz = len(inputs[self.of])
        return np.concatenate([super().reorder(array[:bsz], order, inputs), array[bsz:]])


@dataclass(frozen=True)
class Sums(Prefix):
    """A prefix sum over the step's slots, and what stands behind."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        end = len(inputs[THIS]) + 1
        return np.concatenate([super().reorder(array[:end], order, inputs), array[end:]])


def noise_rows(rng: np.random.Generator, count: int, like: np.ndarray) -> np.ndarray:
    """`count` rows of anything, as `like` has them."""
    shape = (count, *like.shape[1:])
    if like.dtype == bool:
        return np.asarray(rng.random(shape) < 0.5)
    if like.dtype.kind == "f":
        return rng.standard_normal(shape).astype(like.dtype)
    limits = np.iinfo(like.dtype)
    return np.asarray(rng.integers(limits.min, limits.max, shape, like.dtype, endpoint=True))


def with_tails(inputs: Arrays, names: Sequence[str], count: int, rng: np.random.Generator) -> dict[str, Any]:
    """`inputs` with `count` more rows of anything in the arrays `names`."""
    grown = {name: np.asarray(inputs[name]) for name in names}
    grown = {name: np.concatenate([array, noise_rows(rng, count, array)]) for name, array in grown.items()}
    return {**inputs, **grown}


def more_slots(
    names: Sequence[str],
    fixed: Mapping[str, int] | None = None,
    change: Callable[[Arrays, int], Mapping[str, Any]] = lambda inputs, count: {},
) -> Relation:
    """Slots behind the step's, of anything or of what `fixed` says, stay as they are and change nothing else.

    `change(inputs, count)` gives further inputs to replace.
    """

    def tails(sample: Sample, rng: np.random.Generator) -> dict[str, np.ndarray]:
        count = int(rng.integers(1, 40))
        found = {name: noise_rows(rng, count, np.asarray(sample.inputs[name])) for name in names}
        for name, value in (fixed or {}).items():
            found[name][:] = value
        return found

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        found = tails(sample, rng)
        grown = {name: np.concatenate([np.asarray(sample.inputs[name]), rows]) for name, rows in found.items()}
        grown |= change(sample.inputs, len(found[names[0]]))
        return replace(sample, inputs={**sample.inputs, **grown})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        found = tails(sample, rng)
        return {n: np.concatenate([v, found[n]]) if n in found else v for n, v in outputs.items()}

    return Relation("more slots behind the step's", transform, expect)


def wrong_values(inputs: Arrays, rows: np.ndarray, name: str, values: Sequence[int]) -> list[Fault]:
    """Each of `values` in the argument `name`, in one of `rows`."""

    def fault(value: int) -> Callable[[int], dict[str, Any]]:
        return lambda row: put(inputs, name, row, value)

    return [(rows, fault(value)) for value in values]


def too_many_slots(inputs: Arrays, slots: int) -> dict[str, Any]:
    """A step of one slot more than there are."""
    this = np.asarray(inputs[THIS])
    return {THIS: np.resize(this, slots + 1) if len(this) else np.zeros(slots + 1, this.dtype)}
