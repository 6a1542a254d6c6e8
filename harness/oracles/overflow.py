"""Does signed arithmetic overflow, a shift leave its width, or a division have no result?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import of_kinds
from opgold.harness.runner import Trial

CATCHES = "32-bit index arithmetic"


def check(trial: Trial) -> Iterator[Finding]:
    yield from of_kinds(trial, "overflow", "overflow", "shift", "divide")
