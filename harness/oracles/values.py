"""Is every specified element the golden model's? Integers and booleans exactly, floats within the op's ulps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import at_elements
from opgold.harness.runner import Trial, same_bits

CATCHES = "wrong results"


def check(trial: Trial) -> Iterator[Finding]:
    run = trial.runs[0]
    if run.report.error is not None:
        return  # nothing was computed; the launch oracle says so
    for name, golden in trial.golden.arrays.items():
        got = run.arrays[name]
        ulps = trial.signature.ulps.get(name, 0)
        wrong = trial.specified[name] & ~trial.is_unwritten(run, name) & ~agree(golden, got, ulps)
        if wrong.any():
            yield at_elements(trial, "values", "wrong value", name, wrong, expected=golden, got=got, run=run)


def agree(golden: np.ndarray, got: np.ndarray, ulps: int) -> np.ndarray:
    """Which elements agree: same bits or, with `ulps`, both NaN or at most so many representable values apart."""
    same = same_bits(golden, got)
    if not ulps or golden.dtype.kind in "iub":
        return same
    both_nan = np.isnan(golden) & np.isnan(got)
    near: np.ndarray = np.abs(_rank(golden) - _rank(got)) <= ulps
    agreeing: np.ndarray = same | both_nan | near
    return agreeing


def _rank(array: np.ndarray) -> np.ndarray:
    """Place of each value among the representable ones, so that neighbours differ by 1 and -0 equals 0."""
    bits = np.ascontiguousarray(array).view(f"i{array.itemsize}").astype(object)
    lowest = -(1 << (8 * array.itemsize - 1))
    return np.where(bits < 0, lowest - bits, bits).reshape(array.shape)
