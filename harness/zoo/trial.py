"""Runs an exhibit, with its bug or as its right twin, on all that is kept for its op, and tells who reports what."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from opgold.harness import casefile, check, sequences
from opgold.harness.backends.native import Native
from opgold.harness.finding import Finding
from opgold.harness.search import search
from opgold.harness.zoo.exhibit import MACRO, Exhibit

GENERATED = 8


class Planted(Native):
    """An emulator with one exhibit in the place of its op's kernel; of other ops it has none."""

    def __init__(self, exhibit: Exhibit, bug: bool) -> None:
        super().__init__(exhibit.backend, "checked")
        self.exhibit = exhibit
        self.defines = (MACRO,) if bug else ()

    def source(self, op: str) -> Path:
        return self.exhibit.path

    def has(self, op: str) -> bool:
        return op == self.exhibit.op


@dataclass
class Outcome:
    """What came of it: how many cases and sequences ran, which of them showed something, and all findings."""

    ran: int = 0
    shown: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def oracles(self) -> set[str]:
        """Who reports it."""
        return {finding.oracle for finding in self.findings}

    def add(self, name: str, ran: bool, findings: list[Finding]) -> None:
        self.ran += ran
        self.shown += [name] if findings else []
        self.findings += findings


def run(exhibit: Exhibit, bug: bool) -> Outcome:
    """The regression cases of its op, and the kept sequences that it plays; of a right twin, generated cases as well.
    Marks must not hang on what is drawn, so that the bug gets none. Raises BuildError."""
    backend = Planted(exhibit, bug)
    backend.prepare(exhibit.op)
    outcome = Outcome()
    for path in casefile.regressions(exhibit.op):
        outcome.add(path.stem, *check.run_case(casefile.read(path), backend))
    for path in (path for kind in exhibit.plays for path in sequences.saved(kind)):
        for result in check.check_cases([path], backend):
            outcome.add(path.stem, bool(result.kept), result.findings)
    if not bug:
        drawn = search(exhibit.op, backend, GENERATED)
        outcome.add("generated", drawn.executed > 0, drawn.findings)
    return outcome


def of_bug(exhibit: Exhibit, bug: Outcome) -> list[str]:
    """What is not as the exhibit says: an oracle that no longer reports the bug."""
    found = []
    missing = [name for name in exhibit.caught_by if name not in bug.oracles]
    if missing:
        reported = ", ".join(sorted(bug.oracles)) or "no oracle"
        found.append(f"{exhibit.name}: no longer reported by {', '.join(missing)}; {reported} reports it")
    if exhibit.missed and bug.findings:
        found.append(f"{exhibit.name}: reported by {', '.join(sorted(bug.oracles))}, though its head says `not caught`")
    return found


def of_twin(exhibit: Exhibit, twin: Outcome) -> list[str]:
    """What the right twin was reported for, though it must not be."""
    return [f"{exhibit.name}: its right twin is not silent\n{finding}" for finding in twin.findings]
