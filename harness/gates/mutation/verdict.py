"""What is asked of a worker about one op on one side, and what came of each mutant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from opgold.harness.case import Case
from opgold.harness.finding import Finding
from opgold.harness.gates.mutation.equivalents import EMPTY, Equivalents
from opgold.kernels.mutants import Mutant

GOLDEN = "golden"  # the side of golden models; the others are named as their backend
TIMEOUT, DIED, ELSEWHERE = "time-out", "died", "elsewhere"  # how a mutant may be caught, besides by an oracle

Lines = Mapping[Path, frozenset[int]]


class Side(NamedTuple):
    """An op on one side: what messages are about."""

    op: str
    side: str


@dataclass(frozen=True)
class Task:
    """The mutants of one op on one side, judged by its kept cases and `examples` generated ones.

    `lines`: only mutants on these; `known`: mutants that need not be judged, another op's cases having caught them;
    `alone`: this case in the place of all others; `survivors`: only these mutants, by generated cases alone;
    `equivalents`: those that they name are tried on the plain build alone.
    """

    op: str
    side: str
    examples: int
    seed: int
    lines: Lines | None = None
    known: frozenset[Mutant] = frozenset()
    alone: Case | None = None
    survivors: frozenset[Mutant] | None = None
    equivalents: Equivalents = EMPTY

    @property
    def about(self) -> Side:
        return Side(self.op, self.side)


@dataclass(frozen=True)
class Verdict:
    """A mutant under the cases of an op: how many of them evaluate it, and in how many it then gives another value;
    by which oracle it was caught and on which case; that case itself if it was searched for. `caught` is empty for one
    that was not."""

    mutant: Mutant
    reached: int
    infected: int
    caught: str = ""
    case: str = ""
    found: Case | None = None


@dataclass(frozen=True)
class Begun:
    """A task's mutants, those apart that are known."""

    about: Side
    mutants: tuple[Mutant, ...]
    cases: int


@dataclass(frozen=True)
class Judged:
    """One mutant of a task is over."""

    about: Side
    verdict: Verdict


@dataclass(frozen=True)
class Unmutated:
    """The unmutated kernel or model has a finding: what the cases say of mutants is worth nothing."""

    about: Side
    finding: Finding


@dataclass(frozen=True)
class Ended:
    """A task is over."""

    about: Side


Message = Begun | Judged | Unmutated | Ended


def chosen(mutants: Sequence[Mutant], task: Task) -> list[int]:
    """The numbers, from 0, of the mutants that a task judges."""
    lines, survivors = task.lines, task.survivors
    return [
        i
        for i, m in enumerate(mutants)
        if (lines is None or m.line in lines.get(m.file, ())) and (survivors is None or m in survivors)
    ]
