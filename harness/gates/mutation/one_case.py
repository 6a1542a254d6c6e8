"""Which mutants a single case can fail: `opgold case check --mutants`."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from opgold.harness import backends
from opgold.harness.case import Case
from opgold.harness.finding import Finding
from opgold.harness.gates.mutation.driver import judge
from opgold.harness.gates.mutation.mutate import tasks_of
from opgold.harness.gates.mutation.score import Outcome, Row
from opgold.harness.gates.mutation.show import key_of, mutant_json
from opgold.harness.gates.mutation.verdict import GOLDEN
from opgold.kernels.mutants import Mutant


@dataclass(frozen=True)
class MutantPower:
    """What a case can fail: a row for each side, `fresh` mutants that survived the last run over all cases, `survivors`
    of them in all; findings on the unmutated op."""

    rows: list[Row]
    fresh: list[Mutant]
    survivors: int
    findings: list[Finding]

    @property
    def vacuous(self) -> bool:
        return not any(row.tally.caught for row in self.rows)

    def __str__(self) -> str:
        if self.vacuous:
            return "vacuous: it can fail no mutant"
        counts = [f"{row.tally.caught} of {row.tally.mutants} mutants on {row.side}" for row in self.rows]
        said = f"it can fail {', '.join(counts)}"
        if self.survivors:
            said += f"; {len(self.fresh)} of the {self.survivors} that survived the last `opgold mutate`"
        return said


def mutant_power(case: Case, jobs: int, reports: Path) -> MutantPower:
    """What a case alone can fail, and what of it is new against the last run, whose reports lie in a folder.

    Raises ProcessDied.
    """
    targets = [backends.get(name) for name in backends.DEFAULT]
    tasks = tasks_of([case.op], targets, True, 0, 0, None)
    outcome = Outcome()
    for message in judge([replace(task, alone=case) for task in tasks], jobs):
        outcome.add(message)
    survived = survivors_of(case.op, reports)
    fresh = [mutant for mutant in outcome.caught if key_of(mutant_json(mutant)) in survived]
    rows = sorted(outcome.rows, key=lambda row: (row.side == GOLDEN, row.side))
    return MutantPower(rows, fresh, len(survived), outcome.findings)


def survivors_of(op: str, reports: Path) -> Collection[tuple[object, ...]]:
    """What survived the last run; nothing if there was none."""
    file = reports / f"{op}.json"
    if not file.exists():
        return ()
    return {key_of(survivor) for survivor in json.loads(file.read_text())["survivors"]}
