"""How rows of the draft-model ops are drawn: first what each slot does, then values that make it lawful."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.relations import Arrays, Relation
from opgold.cases.sample import Sample

INT32 = np.iinfo(np.int32)
INT64 = np.iinfo(np.int64)
Fault = tuple[np.ndarray, Callable[[int], dict[str, Any]]]


@st.composite
def kinds(draw: st.DrawFn, names: Sequence[str], *, min_slots: int = 0) -> np.ndarray:
    """What each slot does, [bsz] of `names`: a few, drawn one by one, or as many as the catalogue says, from a seed."""
    if draw(st.integers(0, 4)) < 4:
        fewest = max(min_slots, draw(st.integers(0, 5)))
        return np.array(draw(st.lists(st.sampled_from(names), min_size=fewest, max_size=7)), "U20")
    return np.asarray(draw(edges.seeds()).choice(names, draw(st.sampled_from(edges.SIZES))).astype("U20"))


def wide_ids(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Token ids, int64, with something in their upper halves: a store of four bytes shows. Never -1."""
    return np.asarray(rng.integers(2**33, 2**62, shape))


def between(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """int64, from `low` to `high` (at least `low`), both of which are met often."""
    high = np.maximum(low, high)
    coin = rng.integers(0, 4, len(low))
    return np.where(coin == 0, low, np.where(coin == 1, high, rng.integers(low, high, endpoint=True)))


def anything(rng: np.random.Generator, count: int, limits: Any = INT32) -> np.ndarray:
    """What a row may hold that nothing looks at: small numbers, negative ones, an integer type's limits."""
    extremes = rng.choice(np.array([limits.min, limits.min + 1, -1, limits.max - 1, limits.max], np.int64), count)
    return np.where(rng.random(count) < 0.5, rng.integers(-3, 9, count), extremes)


def fill(rows: np.ndarray, values: np.ndarray, otherwise: np.ndarray, dtype: type = np.int32) -> np.ndarray:
    """`values` in `rows`, and `otherwise` elsewhere."""
    return np.where(rows, values, otherwise).astype(dtype)


def flags(rng: np.random.Generator, count: int, share: float = 0.5) -> np.ndarray:
    return np.asarray(rng.random(count) < share)


def put(inputs: Arrays, name: str, slot: int, value: int) -> dict[str, Any]:
    """The argument `name` with another value in one slot."""
    changed = np.array(inputs[name])
    changed[slot] = value
    return {name: changed}


def puts(inputs: Arrays, name: str, value: int) -> Callable[[int], dict[str, Any]]:
    """The fault that the argument `name` has `value` in a slot."""
    return lambda slot: put(inputs, name, slot, value)


def beside(changed: Mapping[str, Any], fault: Callable[[int], dict[str, Any]]) -> Callable[[int], dict[str, Any]]:
    """A fault, with other arguments changed as well."""
    return lambda slot: {**changed, **fault(slot)}


def cut(inputs: Arrays, name: str, columns: int) -> dict[str, Any]:
    """The argument `name` with fewer columns."""
    return {name: np.array(inputs[name])[:, :columns].copy()}


@st.composite
def with_fault(draw: st.DrawFn, inputs: Arrays, faults: Sequence[Fault]) -> dict[str, Any]:
    """`inputs` with one of the faults, in one of the slots where it is one."""
    where, fault = draw(st.sampled_from([fault for fault in faults if fault[0].any()]))
    return {**inputs, **fault(int(draw(edges.seeds()).choice(np.flatnonzero(where))))}


def noise(inputs: Arrays, names: Sequence[str], rng: np.random.Generator) -> dict[str, Any]:
    """Anything at all in the vectors `names`."""
    vectors = {name: np.asarray(inputs[name]) for name in names}
    return {n: anything(rng, len(v), np.iinfo(v.dtype)).astype(v.dtype) for n, v in vectors.items()}


def wider_rows(cleared: Mapping[str, Callable[[Arrays], np.ndarray]], kept: Sequence[str]) -> Relation:
    """One more column in every row changes nothing else. The op keeps it, or sets it to -1 in rows of `cleared`."""

    def widened(array: Any, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([array, wide_ids(rng, len(array), 1)], axis=1)

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        wider = {name: widened(sample.inputs[name], rng) for name in (*cleared, *kept)}
        return replace(sample, inputs={**sample.inputs, **wider})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        columns = {name: widened(sample.inputs[name], rng)[:, -1:] for name in (*cleared, *kept)}
        expected = dict(outputs)
        for name, column in columns.items():
            if name in cleared:
                column[cleared[name](sample.inputs)] = -1
            if name in outputs:
                expected[name] = np.concatenate([outputs[name], column], axis=1)
        return expected

    return Relation("wider rows", transform, expect)
