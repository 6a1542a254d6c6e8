"""Was anything accessed outside a buffer, a shared array or a stack, off its alignment, or in a wrong memory?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import of_kinds
from opgold.harness.runner import Trial

CATCHES = "out-of-bounds reads and writes, misaligned vectors, wild pointers; transfers of a wrong direction or length"
XPU = ("address-space", "width", "transfer")


def check(trial: Trial) -> Iterator[Finding]:
    yield from of_kinds(trial, "bounds", "bounds", "alignment", "canary", "fault", "stack", "host-memory", *XPU)
