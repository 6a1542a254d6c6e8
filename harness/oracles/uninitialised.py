"""Is the result the same with another poison, and is nothing read that nothing wrote?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import at_elements, of_kinds
from opgold.harness.runner import Trial

CATCHES = "reading garbage"


def check(trial: Trial) -> Iterator[Finding]:
    yield from of_kinds(trial, "uninitialised", "uninitialised")
    for run, cause, name, where in trial.causes:
        if cause == "poison":
            message = "the result depends on what the output held before the call"
            first = trial.runs[0].arrays[name]
            yield at_elements(
                trial, "uninitialised", message, name, where, expected=first, got=run.arrays[name], run=run
            )
            return
