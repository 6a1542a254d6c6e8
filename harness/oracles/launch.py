"""Did the launcher take lawful arguments, was each launch lawful, and did every thread come to its end?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import of_kinds
from opgold.harness.runner import Trial

CATCHES = (
    "bad launches, too much local memory, divergent barriers, shuffles outside their mask, endless kernels, "
    "refused arguments, other tensors returned than the call returns, a program's call outside the contract"
)


KINDS = ("launch", "barrier", "warp", "capture", "hang", "local-memory", "returned", "outside")


def check(trial: Trial) -> Iterator[Finding]:
    yield from of_kinds(trial, "launch", *KINDS)
    for run in trial.runs:
        if run.report.error is not None and not trial.hostile and not run.report.faults:
            message = f"the launcher refuses lawful arguments: {run.report.error}"
            yield Finding(
                trial.case.op, trial.backend.name, "launch", message, variant=str(run.variant), case=trial.case.name
            )
            return
