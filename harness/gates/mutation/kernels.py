"""Mutants of one op's device code, under its cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from opgold.harness import ledger
from opgold.harness.finding import Finding
from opgold.harness.gates.mutation.build import Build, Spoilt
from opgold.harness.gates.mutation.calls import Call
from opgold.harness.gates.mutation.suite import Ruled, suite
from opgold.harness.gates.mutation.verdict import Task, Verdict
from opgold.kernels.build import source_of
from opgold.kernels.mutants import Mutant, mutants_of
from opgold.kernels.sources import vendor_of


class Corrupted(Exception):
    """The unmutated kernel no longer gives what it gave: a mutant has spoilt this process. `verdict` is what was made
    of the present mutant."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self.verdict = verdict


def listed(op: str, target: str) -> tuple[Mutant, ...]:
    """The mutants of an op's kernel and of the headers in it; number i + 1 switches mutant i on."""
    return mutants_of(source_of(op, target), vendor_of(target))


class Kernels:
    """The kernel of a task's op with its mutants, and the calls that judge them.

    `findings` are those on the unmutated kernel. A case that has one judges no mutant. Raises BuildError.
    """

    def __init__(self, task: Task, mutants: Sequence[Mutant]) -> None:
        self.mutants = mutants
        self.findings: list[Finding] = []
        known = ledger.read(ledger.PATH)
        self._builds = [Build(task, checked, known, self.findings) for checked in (False, True)]
        self._catches: Counter[Call] = Counter()
        self._equivalents = task.equivalents
        self._calls, reached, infected = self._builds[0].recorded(suite(task))
        self._infecting = [np.flatnonzero(column) for column in infected.T]
        cases = [call.ruled for call in self._calls]
        self._reached, self._infected = _by_case(cases, reached), _by_case(cases, infected)

    def blank(self, index: int) -> Verdict:
        """The verdict on a mutant before it is tried."""
        return Verdict(self.mutants[index], int(self._reached[index]), int(self._infected[index]))

    def examine(self, index: int) -> Verdict:
        """Try a mutant on every call that can tell it from the original, until one does: first on the plain build, then
        on the checked one, unless it is known to be equivalent. Raises Corrupted."""
        blank = self.blank(index)
        calls = [self._calls[i] for i in self._infecting[index]]
        for build in self._builds[:1] if self._equivalents.names(blank.mutant) else self._builds:
            cleared: set[Ruled] = set()
            for call in sorted(calls, key=lambda call: (-self._catches[call], call.ruled.size)):
                if call.ruled in cleared:
                    continue
                try:
                    caught, spoilt = build.try_mutant(index + 1, call), False
                except Spoilt as found:
                    caught, spoilt = str(found), True
                if caught is None:
                    cleared.add(call.ruled)
                if caught:
                    self._catches[call] += 1
                    verdict = Verdict(blank.mutant, blank.reached, blank.infected, caught, call.ruled.name)
                    if spoilt:
                        raise Corrupted(verdict)
                    return verdict
        return blank


def _by_case(cases: Sequence[Ruled], happened: np.ndarray) -> np.ndarray:
    """In how many cases something happened in any call; int [mutants] of bool [calls, mutants]."""
    numbers: dict[int, int] = {}
    of_call = np.array([numbers.setdefault(id(ruled), len(numbers)) for ruled in cases], int)
    any_call = np.zeros((len(numbers), happened.shape[1]), bool)
    np.logical_or.at(any_call, of_call, happened)
    cases_of: np.ndarray = any_call.sum(axis=0)
    return cases_of
