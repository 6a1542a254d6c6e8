"""One `opgold check`: the same cases on several backends, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opgold.harness import check, dissent, sequences
from opgold.harness.backends.base import Backend
from opgold.harness.check import OpResult
from opgold.harness.finding import Finding, Known
from opgold.harness.ledger import EMPTY, Ledger


@dataclass
class Checked:
    """What came of one backend: a result for each op that it has, and the ops that it lacks."""

    backend: str
    results: list[OpResult] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def executed(self) -> int:
        return sum(result.executed for result in self.results)

    @property
    def idle(self) -> bool:
        """Whether it has some of the ops, and ran no case of them."""
        return bool(self.results) and not self.executed

    @property
    def findings(self) -> list[Finding]:
        return [finding for result in self.results for finding in result.findings]

    @property
    def known(self) -> list[Known]:
        return [known for result in self.results for known in result.known]

    def of(self, op: str) -> OpResult | None:
        return next((result for result in self.results if result.op == op), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "backend": self.backend,
            "executed": self.executed,
            "missing": self.missing,
            "ops": [result.as_json() for result in self.results],
        }


@dataclass(frozen=True)
class Progress:
    """Who is told how far it is: `begin` gets the cases to come, `doing` what is done, `advance` how many are over,
    `over` what has come to its end."""

    begin: Callable[[int], None] = lambda total: None
    doing: Callable[[str], None] = lambda what: None
    advance: Callable[[int], None] = lambda cases: None
    over: Callable[[str], None] = lambda what: None


def check_files(paths: Sequence[Path], backends: Sequence[Backend], ledger: Ledger = EMPTY) -> list[Checked]:
    """Some case files on each backend. A backend does not run cases of ops that it lacks."""
    names = {path: getattr(check.read(path), "op", None) for path in paths}
    runs = []
    for backend in backends:
        lacking = [path for path, op in names.items() if not (backend.sequences if op is None else backend.has(op))]
        present = [path for path in paths if path not in lacking]
        missing = list(dict.fromkeys(names[path] or "sequences" for path in lacking))
        runs.append(Checked(backend.name, check.check_cases(present, backend), missing))
    return together(runs, backends, ledger)


def check_named(
    names: Sequence[str],
    backends: Sequence[Backend],
    examples: int,
    seed: int,
    jobs: int,
    progress: Progress | None = None,
    ledger: Ledger = EMPTY,
) -> list[Checked]:
    """Ops and kinds of sequences on each backend, several of them at a time where it is emulated."""
    progress = progress or Progress()
    parts = {name: sequences.ops(name) for name in names}
    has = {
        backend.name: [
            name
            for name in names
            if any(map(backend.has, parts[name])) and (backend.sequences or name not in sequences.NAMES)
        ]
        for backend in backends
    }
    progress.begin(sum(examples + len(sequences.kept(name)) for present in has.values() for name in present))
    runs = []
    for backend in backends:
        present = has[backend.name]
        run = Checked(backend.name, missing=[name for name in names if name not in present])
        progress.doing(f"building kernels for {backend.name}")
        check.prepare(
            list(dict.fromkeys(part for name in present for part in parts[name] if backend.has(part))), backend
        )
        side_by_side = min(jobs, len(present)) if backend.emulated else 1  # a device is used by one process
        if side_by_side > 1:
            progress.doing(f"{len(present)} ops on {backend.name}, {side_by_side} at a time")
            run.results = check.check_side_by_side(
                present, backend.name, examples, seed, side_by_side, progress.advance, ledger
            )
        else:
            for name in present:
                progress.doing(f"{name} on {backend.name}")
                run.results.append(
                    check.check_named(name, backend, examples, seed, lambda: progress.advance(1), ledger)
                )
        runs.append(run)
    return together(runs, backends, ledger)


def ledger_problems(ledger: Ledger, runs: Sequence[Checked]) -> list[str]:
    """What is wrong with entries of the ledger, as far as these runs can tell."""
    ran = {(run.backend, result.op, case) for run in runs for result in run.results for case in result.kept}
    used = {number for run in runs for known in run.known for number in known.entries}
    return ledger.problems(ran, used)


def together(runs: list[Checked], backends: Sequence[Backend], ledger: Ledger) -> list[Checked]:
    """What is said of the golden model is said once, and what the ledger names is set apart; a wrong element is shown
    with what every side has there."""
    said: set[tuple[str, ...]] = set()
    for run in runs:
        for result in run.results:
            golden = [finding for finding in result.findings if finding.backend == "golden"]
            again = [finding for finding in golden if finding.kind in said]
            result.findings = [finding for finding in result.findings if finding not in again]
            said.update(finding.kind for finding in golden)
            result.findings, result.known = ledger.split(result.op, result.findings)
            if len(backends) > 1:
                result.findings = dissent.compared(result.findings, backends)
    return runs
