"""How oracles make findings from wrong elements and from device faults."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opgold.harness.finding import Finding
from opgold.harness.locate import slot_of
from opgold.harness.runner import Run, Trial


def at_elements(
    trial: Trial,
    oracle: str,
    message: str,
    argument: str,
    where: np.ndarray,
    *,
    expected: np.ndarray | str,
    got: np.ndarray | str,
    run: Run | None = None,
    backend: str | None = None,
) -> Finding:
    """A finding about the elements of `argument` marked by `where`; it names the first and counts the rest."""
    index = tuple(int(i) for i in np.argwhere(where)[0])
    count = int(where.sum())
    if count > 1:
        message += f" ({count} of {where.size} elements; the first is shown)"

    def text(value: np.ndarray | str) -> str:
        return value if isinstance(value, str) else show(value[index])

    return Finding(
        trial.case.op,
        backend or trial.backend.name,
        oracle,
        message,
        argument,
        index,
        text(expected),
        text(got),
        slot_of(trial.case, argument, index),
        str(run.variant) if run else None,
        count,
        trial.case.name,
    )


def show(element: np.generic) -> str:
    """An element as a person reads it; a floating-point one with its bits."""
    if element.dtype.kind in "iub":
        return str(element)
    bits = int(np.asarray(element).reshape(1).view(f"u{element.dtype.itemsize}")[0])
    return f"{float(element):.9g} (bits 0x{bits:0{2 * element.dtype.itemsize}x})"


def of_kinds(trial: Trial, oracle: str, *kinds: str) -> Iterator[Finding]:
    """The device faults of some kinds, each once for all runs, from the run that showed it first."""
    seen = set()
    for run in trial.runs:
        for fault in run.report.faults:
            if fault.kind not in kinds:
                continue
            where = fault.place.frames[0] if fault.place.frames else (fault.file, fault.line)
            key = (fault.kind, fault.argument, where)
            if key in seen:
                continue
            seen.add(key)
            yield Finding(
                trial.case.op,
                trial.backend.name,
                oracle,
                str(fault),
                variant=str(run.variant),
                count=fault.count,
                case=trial.case.name,
                cause=f"{fault.kind} {fault.argument} {where}",
            )
