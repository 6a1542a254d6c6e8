"""Mutants of one op's golden model, under the oracles that judge it: refusals, literal values, relations."""

from __future__ import annotations

import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from opgold.harness import ledger
from opgold.harness.finding import Finding
from opgold.harness.gates.mutation.golden_code import mutated
from opgold.harness.gates.mutation.golden_mutants import REFERENCE, Site, sites
from opgold.harness.gates.mutation.suite import Ruled, suite
from opgold.harness.gates.mutation.verdict import TIMEOUT, Task, Verdict
from opgold.harness.oracles import GOLDEN
from opgold.harness.runner import Golden, run_golden
from opgold.harness.show import golden_trial
from opgold.kernels.mutants import Mutant

LEAST_LIMIT, PATIENCE = 0.5, 20.0  # processor seconds of a case; times what the unmutated model needs
MEMORY = 4 << 30  # bytes that a mutant may ask for
Line = tuple[str, int]


def listed(op: str) -> tuple[Mutant, ...]:
    """The mutants of an op's golden model."""
    return tuple(site.mutant for site in sites(op))


class Models:
    """The golden model of a task's op with its mutants, and the cases that judge them. `findings` are those on the
    unmutated model. A case that has one judges no mutant."""

    def __init__(self, task: Task, mutants: Sequence[Mutant]) -> None:
        _limit_memory()
        self._sites = sites(task.op)
        self.findings: list[Finding] = []
        known = ledger.read(ledger.PATH)
        self._seconds: dict[Ruled, float] = {}
        self._lines: dict[Ruled, set[Line]] = {}
        self._catches: Counter[Ruled] = Counter()
        for ruled in suite(task):
            start = time.process_time()
            with traced() as lines:
                golden = run_golden(ruled.case)
                found = [f for oracle in GOLDEN.values() for f in oracle.check(golden_trial(ruled.case, golden))]
            self.findings += known.split(task.op, found)[0]
            if not found:
                self._seconds[ruled], self._lines[ruled] = time.process_time() - start, lines

    def _reaching(self, site: Site) -> list[Ruled]:
        places = {(str(site.mutant.file), line) for line in site.lines}
        return [ruled for ruled, lines in self._lines.items() if not places.isdisjoint(lines)]

    def blank(self, index: int) -> Verdict:
        """The verdict on a mutant before it is tried. Which cases it infects is not known."""
        site = self._sites[index]
        count = len(self._reaching(site))
        return Verdict(site.mutant, count, count)

    def examine(self, index: int) -> Verdict:
        """Try a mutant on each case that runs its line, until an oracle has a finding."""
        site = self._sites[index]
        cases = sorted(self._reaching(site), key=lambda ruled: (-self._catches[ruled], ruled.size))
        with mutated(site):
            for ruled, caught in self._tried(cases):
                if caught:
                    self._catches[ruled] += 1
                    return Verdict(site.mutant, len(cases), len(cases), caught, ruled.name)
        return self.blank(index)

    def _tried(self, cases: Sequence[Ruled]) -> Iterator[tuple[Ruled, str]]:
        """How each case catches the present mutant: first by what takes little time, then by relations."""
        results: dict[Ruled, Golden] = {}
        for ruled in cases:
            try:
                with time_limit(self._limit(ruled)):
                    results[ruled] = run_golden(ruled.case)
            except OutOfTime:
                yield ruled, TIMEOUT
            else:
                yield ruled, self._caught(ruled, results[ruled], "refusal", "expect")
        for ruled in cases:
            yield ruled, self._caught(ruled, results[ruled], "metamorphic")

    def _limit(self, ruled: Ruled) -> float:
        return max(LEAST_LIMIT, PATIENCE * self._seconds[ruled])

    def _caught(self, ruled: Ruled, golden: Golden, *oracles: str) -> str:
        for name in oracles:
            try:
                with time_limit(self._limit(ruled)):
                    if any(True for _ in GOLDEN[name].check(golden_trial(ruled.case, golden))):
                        return name
            except OutOfTime:
                return TIMEOUT
            except Exception:  # an oracle that cannot even look at what the mutant left: nobody would miss that
                return name
        return ""


def _limit_memory() -> None:
    """A mutant that asks for more gets a MemoryError, which is caught as any other."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))


class OutOfTime(BaseException):
    """Not an Exception: what a golden model raises is its own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime after so many processor seconds."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def traced() -> Iterator[set[Line]]:
    """The lines of golden models that run."""
    lines: set[Line] = set()
    folder = str(REFERENCE)

    def local(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def enter(frame: FrameType, _event: str, _argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(folder) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield lines
    finally:
        sys.settrace(before)
