"""Do two threads, or two streams, access one address, one of them writing, with nothing between that orders them?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import of_kinds
from opgold.harness.runner import Trial

CATCHES = "missing barriers, fences and events, with both accesses' lines; buffers reused while a transfer is in flight"


def check(trial: Trial) -> Iterator[Finding]:
    yield from of_kinds(trial, "race", "race", "fence", "in-flight")
