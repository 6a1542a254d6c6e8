"""What came of all mutants: rows of ops, survivors, scores, the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from opgold.harness.finding import Finding
from opgold.harness.gates.gate import BELOW, FINDINGS
from opgold.harness.gates.mutation.verdict import (
    DIED,
    ELSEWHERE,
    GOLDEN,
    TIMEOUT,
    Begun,
    Judged,
    Message,
    Side,
    Unmutated,
    Verdict,
)
from opgold.kernels.mutants import Mutant

WAYS = ("values", "other oracle", TIMEOUT, DIED)


@dataclass(frozen=True)
class Tally:
    """How many mutants there are, how many of them were caught in which way, how many are known to be equivalent."""

    mutants: int
    ways: Mapping[str, int]
    equivalent: int = 0

    @property
    def caught(self) -> int:
        return sum(self.ways.values())

    @property
    def survivors(self) -> int:
        return self.mutants - self.equivalent - self.caught

    @property
    def percent(self) -> float:
        """Of those that are not equivalent, how many are caught; all of none."""
        judged = self.mutants - self.equivalent
        return 100 * self.caught / judged if judged else 100.0


@dataclass(frozen=True)
class Row:
    """An op on one side: the mutants of its own file, and those of others that its cases reach."""

    op: str
    side: str
    cases: int
    tally: Tally


@dataclass(frozen=True)
class Survivor:
    """A mutant that no case caught: in how many it is evaluated and gives another value, over `ops`."""

    mutant: Mutant
    side: str
    ops: tuple[str, ...]
    reached: int
    infected: int


@dataclass
class Outcome:
    """Collects what workers say. `complete`: whether all ops are in the run, so that a mutant that none of them reaches
    counts, too; `equivalent` are mutants that a file says are."""

    complete: bool = False
    equivalent: Collection[Mutant] = ()
    findings: list[Finding] = field(default_factory=list)
    mutants: dict[Side, tuple[Mutant, ...]] = field(default_factory=dict)
    cases: dict[Side, int] = field(default_factory=dict)
    verdicts: dict[Side, dict[Mutant, Verdict]] = field(default_factory=dict)
    caught: dict[Mutant, Verdict] = field(default_factory=dict)

    def add(self, message: Message) -> None:
        side = message.about
        if isinstance(message, Begun):
            self.mutants[side], self.cases[side] = message.mutants, message.cases
            self.verdicts[side] = {}
        elif isinstance(message, Unmutated):
            self.findings.append(message.finding)
        elif isinstance(message, Judged):
            verdict = message.verdict
            self.verdicts[side][verdict.mutant] = verdict
            if verdict.caught and verdict.caught != ELSEWHERE:
                self.caught.setdefault(verdict.mutant, verdict)

    def judged(self, side: Side) -> str:
        """ "29 of 312 mutants not caught", of those that its cases reach"""
        verdicts = [verdict for verdict in self.verdicts[side].values() if verdict.reached]
        return f"{sum(not verdict.caught for verdict in verdicts)} of {len(verdicts)} mutants not caught"

    @property
    def rows(self) -> list[Row]:
        """The worst first."""
        rows = []
        for about, verdicts in self.verdicts.items():
            counted = [v.mutant for v in verdicts.values() if v.mutant.file.stem == about.op or v.reached]
            if counted:
                rows.append(Row(about.op, about.side, self.cases[about], self.tally(counted)))
        return sorted(rows, key=lambda row: (row.tally.percent, -row.tally.survivors, row.op, row.side))

    def tally(self, mutants: Sequence[Mutant]) -> Tally:
        ways = Counter(way_of(self.caught[mutant]) for mutant in mutants if mutant in self.caught)
        equivalent = sum(mutant in self.equivalent and mutant not in self.caught for mutant in mutants)
        return Tally(len(mutants), {way: ways[way] for way in WAYS}, equivalent)

    def total(self, *, golden: bool) -> Tally:
        """Over all golden models, or all kernels: each mutant once."""
        return self.tally([mutant for mutant, (side, _) in self._counted().items() if (side == GOLDEN) == golden])

    @property
    def survivors(self) -> list[Survivor]:
        """By side, file and line."""
        found = []
        for mutant, (side, verdicts) in self._counted().items():
            if mutant not in self.caught and mutant not in self.equivalent:
                reached, infected = sum(v.reached for _, v in verdicts), sum(v.infected for _, v in verdicts)
                found.append(Survivor(mutant, side, tuple(op for op, _ in verdicts), reached, infected))
        return sorted(found, key=lambda s: (s.side == GOLDEN, s.mutant.file, s.mutant.line, s.mutant.column))

    def _counted(self) -> dict[Mutant, tuple[str, list[tuple[str, Verdict]]]]:
        """Each mutant that counts, its side, and what the ops' cases made of it. One of a file that other ops have
        counts if a case reaches it, or if all ops are here."""
        found: dict[Mutant, tuple[str, list[tuple[str, Verdict]]]] = {}
        for (op, side), verdicts in self.verdicts.items():
            for mutant, verdict in verdicts.items():
                found.setdefault(mutant, (side, []))[1].append((op, verdict))
        return {
            mutant: (side, verdicts)
            for mutant, (side, verdicts) in found.items()
            if self.complete or any(op == mutant.file.stem or verdict.reached for op, verdict in verdicts)
        }

    def code(self, fail_under: float, fail_under_golden: float, problems: Sequence[str]) -> int:
        """The exit code. Findings on what is not mutated come first: then scores say little."""
        if self.findings or problems:
            return FINDINGS
        low = self.total(golden=False).percent < fail_under or self.total(golden=True).percent < fail_under_golden
        return BELOW if low else 0


def way_of(verdict: Verdict) -> str:
    return verdict.caught if verdict.caught in WAYS else WAYS[1]
