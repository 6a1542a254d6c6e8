"""Makes a sequence that has a finding as short as it can be while it has that finding."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from opgold.harness.finding import Finding

Sequence = TypeVar("Sequence")
SECONDS = 20.0  # a kernel that hangs costs seconds a try


def smallest(
    script: Sequence,
    findings: list[Finding],
    play: Callable[[Sequence], list[Finding]],
    simpler: Callable[[Sequence], Iterable[Sequence]],
) -> tuple[Sequence, list[Finding]]:
    """The simplest sequence found from `script` whose first finding is of the same kind, and its findings.

    `simpler` gives those with one thing less in them that can be played, the greatest cuts first.
    """
    wanted, deadline = findings[0].kind, time.monotonic() + SECONDS
    smaller = True
    while smaller:
        smaller = False
        for candidate in simpler(script):
            if time.monotonic() > deadline:
                return script, findings
            found = play(candidate)
            if found and found[0].kind == wanted:
                script, findings, smaller = candidate, found, True
                break
    return script, findings
