"""Were exactly the elements written that the golden model writes?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import at_elements
from opgold.harness.runner import Trial, is_poison

CATCHES = "stray or missing writes"


def check(trial: Trial) -> Iterator[Finding]:
    runs = [run for run in trial.runs if run.report.error is None]
    if not runs:
        return
    poisons = {run.variant.poison for run in runs}
    for argument in trial.signature.outputs:
        name = argument.name
        defined = trial.specified[name]
        unwritten = [trial.is_unwritten(run, name) for run in runs]
        missing = defined.copy()
        for untouched in unwritten:
            missing &= untouched
        for poison in (
            poisons if len(poisons) == 1 else ()
        ):  # its value may have been written, where it is the right one
            missing &= ~is_poison(trial.golden.arrays[name], name, poison)
        if missing.any():
            yield at_elements(
                trial,
                "footprint",
                "never written",
                name,
                missing,
                expected=trial.golden.arrays[name],
                got="what stood there before",
                run=runs[0],
            )
        if trial.backend.allocates:
            continue
        for run, untouched in zip(runs, unwritten, strict=True):
            stray = ~defined & ~untouched
            if stray.any():
                yield at_elements(
                    trial,
                    "footprint",
                    "written, though the golden model leaves it alone",
                    name,
                    stray,
                    expected="what stood there before",
                    got=run.arrays[name],
                    run=run,
                )
                break
