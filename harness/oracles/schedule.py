"""Is the result the same under other orders of threads and blocks, repeated, on other grids, and for shifted bases?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import at_elements
from opgold.harness.runner import Trial

CATCHES = "order dependence, alignment dependence, a result that hangs on the grid"


def check(trial: Trial) -> Iterator[Finding]:
    messages = {
        "order": "the result changes with the order of threads and blocks, or from run to run",
        "alignment": "the result depends on the alignment of the buffers",
        "grid": "the result depends on how many clusters or cores there are",
        "copies": "the result depends on when a transfer that is not waited for is made",
    }
    reported = set()
    for run, cause, name, where in trial.causes:
        if cause not in messages or cause in reported:
            continue
        reported.add(cause)
        first = trial.runs[0].arrays[name]
        yield at_elements(
            trial, "schedule", messages[cause], name, where, expected=first, got=run.arrays[name], run=run
        )
