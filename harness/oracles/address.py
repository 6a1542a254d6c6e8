"""Do in-place arguments keep their address and their shape?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import of_kinds
from opgold.harness.runner import Trial

CATCHES = "rebinding that breaks captured graphs"


def check(trial: Trial) -> Iterator[Finding]:
    yield from of_kinds(trial, "address", "reshaped")
    for run in trial.runs:
        for argument in trial.signature.written:
            given = run.report.given.get(argument.name)
            after = run.report.addresses.get(argument.name)
            if given is not None and after is not None and given != after:
                yield Finding(
                    trial.case.op,
                    trial.backend.name,
                    "address",
                    f"{argument.name} lies elsewhere after the call: a captured graph would go on using the old place",
                    argument.name,
                    expected=hex(given),
                    got=hex(after),
                    variant=str(run.variant),
                    case=trial.case.name,
                )
                return
