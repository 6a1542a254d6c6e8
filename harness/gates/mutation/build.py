"""One build of a kernel with its mutants: the unmutated kernel's runs, and single mutants in single calls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from opgold.harness.finding import Finding
from opgold.harness.gates.mutation.calls import LEAST_LIMIT, PATIENCE, Call, State, calls_of
from opgold.harness.gates.mutation.suite import Ruled
from opgold.harness.gates.mutation.switched import Switched
from opgold.harness.gates.mutation.verdict import TIMEOUT, Task
from opgold.harness.ledger import Ledger
from opgold.harness.oracles import judge_runs
from opgold.harness.runner import Run, Trial, run_variants
from opgold.kernels import runtime
from opgold.kernels.mutants import Switch


class Spoilt(Exception):
    """The unmutated kernel gives something else than before. The message is how a mutant was caught."""


class Build:
    """One build of the kernel with its mutants, and what the unmutated one leaves behind in each call."""

    def __init__(self, task: Task, checked: bool, known: Ledger, findings: list[Finding]) -> None:
        self._task, self._known, self._findings = task, known, findings
        self.backend = Switched(task.side, checked=checked)
        self._states: dict[Call, State | None] = {}
        self._seconds: dict[Call, float] = {}

    @cached_property
    def switch(self) -> Switch:
        """What switches the mutants. Raises BuildError."""
        return self.backend.switch(self._task.op)

    def recorded(self, cases: Iterable[Ruled]) -> tuple[list[Call], np.ndarray, np.ndarray]:
        """The calls of all cases without findings, made with the unmutated kernel; and which mutants each reached and
        infected, bool [calls, mutants]."""
        calls: list[Call] = []
        reached, infected = [], []
        for ruled in cases:
            rows = []
            for call in self._original(calls_of(ruled, self.backend)):
                rows.append((call, self.switch.reached(), self.switch.infected()))
                self.switch.clear()
            for call, reaches, infects in rows:
                if self._states[call] is not None:
                    calls.append(call)
                    reached.append(reaches)
                    infected.append(infects)
        none = np.zeros((0, len(self.switch.reached())), bool)
        return calls, np.array(reached) if calls else none, np.array(infected) if calls else none

    def _original(self, calls: Sequence[Call]) -> Iterator[Call]:
        """Make the calls of a case with the unmutated kernel, and judge them; yields each after it was made."""
        self.switch.clear()
        runs = []
        self.backend.time_limit = runtime.TIME_LIMIT
        for call in calls:
            start = time.process_time()
            run = call.run(self.backend)
            # the entry's time is the clock's, and the process's has the opening of the device in it
            self._seconds[call] = min(time.process_time() - start, run.report.seconds)
            self._states[call] = call.state(run)
            runs.append(run)
            yield call
        if not calls:
            return
        trial = Trial(calls[0].ruled.case, calls[0].ruled.golden, self.backend, runs)
        findings = list(judge_runs(trial))
        if findings:
            self._findings += self._known.split(self._task.op, findings)[0]
            self._states.update(dict.fromkeys(calls))

    def _state(self, call: Call) -> State | None:
        if call not in self._states:
            for _ in self._original(call.siblings):
                pass
        return self._states[call]

    def try_mutant(self, number: int, call: Call) -> str | None:
        """How the call catches a mutant; empty if it does not, None if no call of its case does.

        Raises Spoilt with how, if the unmutated kernel gives something else afterwards."""
        expected = self._state(call)
        if expected is None:
            return None
        self.backend.time_limit = max(LEAST_LIMIT, PATIENCE * self._seconds[call])
        self.switch.select(number)
        try:
            run = call.run(self.backend)
            caught = "" if self._alike(call, run, expected) else self._judged(call, run)
        finally:
            self.switch.select(0)
        if caught and call.state(call.run(self.backend)) != expected:
            raise Spoilt(caught)
        return caught

    def _alike(self, call: Call, run: Run, expected: State) -> bool:
        """Whether no oracle can tell the run from the unmutated one."""
        if call.ruled.hostile:
            return not run.report.faults
        return call.state(run) == expected

    def _judged(self, call: Call, run: Run) -> str | None:
        """The first oracle that has a finding on the mutant's run, else on all runs of its case; None if there is none,
        as it differs where nobody looks."""
        case, golden = call.ruled.case, call.ruled.golden
        runs: Sequence[Run] = [run]
        finding = next(judge_runs(Trial(case, golden, self.backend, runs)), None)
        if finding is None and not call.ruled.hostile:
            runs = run_variants(case, self.backend)
            finding = next(judge_runs(Trial(case, golden, self.backend, runs)), None)
        if finding is None:
            return "" if call.ruled.hostile else None
        return TIMEOUT if any(fault.kind == "hang" for run in runs for fault in run.report.faults) else finding.oracle
