"""Do two threads access one address, one of them writing, with no barrier and no atomic between?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import of_kinds
from opgold.harness.runner import Trial

CATCHES = "missing barriers, with the lines of both accesses"


def check(trial: Trial) -> Iterator[Finding]:
    yield from of_kinds(trial, "race", "race")
