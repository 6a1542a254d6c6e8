"""What the inputs of ops that move hidden rows have in common: dtypes, widths, rows behind the last slot's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.relations import Arrays, Relation
from opgold.cases.sample import Sample

DTYPES = ("float32", "float16", "bfloat16")
WIDTHS = (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 127, 128, 129)
WIDE = (511, 512, 513, 1023, 1024, 1025, 2056, 8191, 8192)
ELEMENTS = 40_000  # of a batch with rows wider than WIDTHS


def widths(rows: int) -> st.SearchStrategy[int]:
    """Columns of a batch of `rows`: the more rows, the fewer columns."""
    return st.sampled_from([*WIDTHS, *(width for width in WIDE if width * rows <= ELEMENTS)])


def surplus() -> st.SearchStrategy[int]:
    """Rows behind the last slot's: mostly none."""
    return st.one_of(st.just(0), st.just(0), edges.sizes(0, 129))


@st.composite
def with_value(draw: st.DrawFn, inputs: Arrays, argument: str, slot: int, values: list[int]) -> dict[str, Any]:
    """`inputs` with one of `values` at `slot` of an argument."""
    changed = np.asarray(inputs[argument]).copy()
    changed[slot] = draw(st.sampled_from(values))
    return {**inputs, argument: changed}


def columns_permuted() -> Relation:
    """Columns of all hidden rows are moved alike."""

    def permuted(arrays: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        order: dict[int, np.ndarray] = {}

        def moved(value: np.ndarray) -> np.ndarray:
            width = value.shape[1]
            return value[:, order.setdefault(width, rng.permutation(width))]

        return {k: moved(v) if isinstance(v, np.ndarray) and v.ndim == 2 else v for k, v in arrays.items()}

    return Relation(
        "permute columns",
        lambda sample, rng: replace(sample, inputs=permuted(sample.inputs, rng)),
        lambda sample, outputs, rng: permuted(outputs, rng),
    )


def more_rows(argument: str, out: str | None = None) -> Relation:
    """Rows behind the last slot's, none of them zero, are not looked at; as many in `out` keep their values."""

    def extra(rng: np.random.Generator) -> int:
        return int(rng.integers(1, 40))

    def grown(arrays: Arrays, name: str, count: int) -> dict[str, Any]:
        rows = np.asarray(arrays[name])
        return {name: np.concatenate([rows, np.full((count, *rows.shape[1:]), 7, rows.dtype)])}

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        count = extra(rng)
        changed = {**grown(sample.inputs, argument, count), **(grown(sample.inputs, out, count) if out else {})}
        return replace(sample, inputs={**sample.inputs, **changed})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        return {**outputs, **(grown(outputs, out, extra(rng)) if out else {})}

    return Relation("more rows behind the last", transform, expect)


def other_values(*arguments: str, bits: Callable[[Arrays, str], np.ndarray] | None = None) -> Any:
    """A change for `unread`: any values in `arguments`, or only where `bits(inputs, argument)` holds."""

    def change(inputs: Arrays, rng: np.random.Generator) -> Arrays:
        changed = {}
        for name in arguments:
            array = np.asarray(inputs[name])
            if array.dtype == bool:
                other = rng.random(array.shape) < 0.5
            else:
                limits = np.iinfo(array.dtype)
                other = rng.integers(limits.min, limits.max, array.shape, array.dtype, endpoint=True)
            changed[name] = other if bits is None else np.where(bits(inputs, name), other, array)
        return changed

    return change
