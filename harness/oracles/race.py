"""Do two threads access one address, one of them writing, with no barrier, atomic or (on an XPU) fence between?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import of_kinds
from opgold.harness.runner import Trial

CATCHES = "missing barriers and fences, with the lines of both accesses; buffers reused while a transfer is in flight"


def check(trial: Trial) -> Iterator[Finding]:
    yield from of_kinds(trial, "race", "race", "fence", "in-flight")
