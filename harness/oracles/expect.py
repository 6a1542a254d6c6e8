"""Does the golden model give the literal values that a person worked out?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import at_elements
from opgold.harness.runner import Trial, same_bits

CATCHES = "a golden model that is wrong"


def check(trial: Trial) -> Iterator[Finding]:
    for name, expected in trial.case.expect.items():
        got = trial.golden.arrays.get(name)
        if got is None:
            continue  # refused: another oracle's finding
        wanted, known = got.copy(), np.zeros(got.shape, bool)
        if expected.at is None:
            wanted[...] = expected.values.reshape(got.shape)
            known[...] = True
        else:
            for index, value in zip(expected.at, expected.values, strict=True):
                wanted[index] = value
                known[index] = True
        wrong = known & ~(same_bits(wanted, got) & trial.golden.defined[name])
        if wrong.any():
            message = "the golden model departs from the case's literal values"
            yield at_elements(trial, "expect", message, name, wrong, expected=wanted, got=got, backend="golden")
