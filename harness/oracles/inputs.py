"""Is every `In` argument bit-identical after the call, and was it never written?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import at_elements, of_kinds
from opgold.harness.runner import Trial, same_bits

CATCHES = "hidden mutation"


def check(trial: Trial) -> Iterator[Finding]:
    reported = list(of_kinds(trial, "inputs", "input-write"))
    yield from reported
    if reported:
        return
    for run in trial.runs:
        for argument in trial.signature.inputs:
            before = trial.case.inputs.get(argument.name)
            if argument.writes or not isinstance(before, np.ndarray):
                continue
            after = run.arrays[argument.name]
            changed = ~same_bits(np.ascontiguousarray(before), after)
            if changed.any():
                yield at_elements(
                    trial, "inputs", "an input was changed", argument.name, changed, expected=before, got=after, run=run
                )
                return
