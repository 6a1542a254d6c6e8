"""Annotations of a kernel (bindings/annotations.h) that its op's kept cases came to, and those that excused nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from opgold.harness.finding import Finding
from opgold.harness.runner import Trial
from opgold.kernels.report import Excuse

MACROS = {"same-value": "OPGOLD_SAME_VALUE", "ordered": "OPGOLD_ORDERED"}


@dataclass
class Annotations:
    """What all kept cases of an op showed. Annotations of shared headers are not judged: another op may need them."""

    op: str
    backend: str
    excused: Counter[Excuse] = field(default_factory=Counter)

    def add(self, trial: Trial) -> None:
        for run in trial.runs:
            for excuse in run.report.excuses:
                self.excused[replace(excuse, count=0)] += excuse.count

    def idle(self) -> Iterator[Finding]:
        """A finding for each annotation of the op's own file without effect."""
        for excuse, count in self.excused.items():
            file = Path(excuse.file)
            if count or file.stem != self.op:
                continue
            place = f"{file.name}:{excuse.line}"
            message = (
                f'{MACROS[excuse.kind]}("{excuse.reason}"), {place}, excuses nothing in any kept case; '
                "take it away, or keep a case that needs it"
            )
            yield Finding(self.op, self.backend, "race", message, cause=place)
