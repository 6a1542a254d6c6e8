"""Mutants of one op's golden model, under the oracles that judge it: refusals, literal values, relations."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from opgold.harness import ledger
from opgold.harness.finding import Finding
from opgold.harness.gates.mutation.golden_calls import ModelCalls
from opgold.harness.gates.mutation.golden_code import mutated
from opgold.harness.gates.mutation.golden_limits import Line, OutOfTime, limit_memory, time_limit, traced
from opgold.harness.gates.mutation.golden_mutants import Site, sites
from opgold.harness.gates.mutation.suite import Ruled, suite
from opgold.harness.gates.mutation.verdict import TIMEOUT, Task, Verdict
from opgold.harness.oracles import GOLDEN
from opgold.harness.runner import run_golden
from opgold.harness.show import golden_trial
from opgold.kernels.mutants import Mutant

LEAST_LIMIT, PATIENCE = 0.5, 20.0  # processor seconds of a case; times what the unmutated model needs


def listed(op: str) -> tuple[Mutant, ...]:
    """The mutants of an op's golden model."""
    return tuple(site.mutant for site in sites(op))


class Models:
    """The golden model of a task's op with its mutants, and the cases that judge them. `findings` are those on the
    unmutated model. A case that has one judges no mutant."""

    def __init__(self, task: Task, mutants: Sequence[Mutant]) -> None:
        limit_memory()
        self._sites = sites(task.op)
        self.findings: list[Finding] = []
        self._calls: dict[Ruled, ModelCalls] = {}
        self._seconds: dict[Ruled, float] = {}
        self._lines: dict[Ruled, set[Line]] = {}  # run by the calls of a case
        self._before: dict[Ruled, set[Line]] = {}  # run to make them
        self._catches: Counter[Ruled] = Counter()
        known = ledger.read(ledger.PATH)
        for ruled in suite(task):
            found = [f for oracle in GOLDEN.values() for f in oracle.check(golden_trial(ruled.case, ruled.golden))]
            self.findings += known.split(task.op, found)[0]
            if not found:
                self._record(ruled)

    def _record(self, ruled: Ruled) -> None:
        with traced() as self._before[ruled]:
            calls = ModelCalls(ruled)
        start = time.process_time()
        with traced() as self._lines[ruled]:
            calls.expect()
        self._calls[ruled], self._seconds[ruled] = calls, time.process_time() - start

    def _reaching(self, site: Site) -> list[Ruled]:
        places = {(str(site.mutant.file), line) for line in site.lines}
        return [
            r for r in self._calls if not (places.isdisjoint(self._lines[r]) and places.isdisjoint(self._before[r]))
        ]

    def blank(self, index: int) -> Verdict:
        """The verdict on a mutant before it is tried. In how many cases it makes a difference is not known yet."""
        site = self._sites[index]
        return Verdict(site.mutant, len(self._reaching(site)), 0)

    def examine(self, index: int) -> Verdict:
        """Try a mutant on each case that runs its line, until an oracle has a finding."""
        site = self._sites[index]
        cases = sorted(self._reaching(site), key=lambda ruled: (-self._catches[ruled], ruled.size))
        infected = 0
        with mutated(site):
            for ruled in cases:
                caught, differs = self._tried(site, ruled)
                infected += differs
                if caught:
                    self._catches[ruled] += 1
                    return Verdict(site.mutant, len(cases), infected, caught, ruled.name)
        return Verdict(site.mutant, len(cases), infected)

    def _tried(self, site: Site, ruled: Ruled) -> tuple[str, bool]:
        """Which oracle has a finding on a case, and whether the present mutant makes a difference in it at all."""
        name = ""
        try:
            with time_limit(max(LEAST_LIMIT, PATIENCE * self._seconds[ruled])):
                if self._same_calls(site, ruled) and self._calls[ruled].alike():
                    return "", False
                trial = golden_trial(ruled.case, run_golden(ruled.case))
                for name, oracle in GOLDEN.items():
                    if any(True for _ in oracle.check(trial)):
                        return name, True
        except OutOfTime:
            return TIMEOUT, True
        except Exception:  # an oracle that cannot even look at what the mutant left: nobody would miss that
            return name, True
        return "", True

    def _same_calls(self, site: Site, ruled: Ruled) -> bool:
        """Whether a mutant leaves alone which calls a case makes: sizes and relations may hang on golden models."""
        return self._before[ruled].isdisjoint((str(site.mutant.file), line) for line in site.lines)
