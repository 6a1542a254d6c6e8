"""The main job: regression cases and generated ones of some ops on a backend, and what came of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opgold.harness import casefile
from opgold.harness.backends.base import Backend
from opgold.harness.case import Case
from opgold.harness.finding import Finding
from opgold.harness.oracles import judge
from opgold.harness.runner import case_seed, try_case
from opgold.harness.search import search
from opgold.kernels.build import BuildError

SAVED = Path(".opgold") / "findings"


@dataclass
class OpResult:
    """One op on one backend: how many cases really ran, and the findings."""

    op: str
    regressions: int = 0
    generated: int = 0
    hostile: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def executed(self) -> int:
        return self.regressions + self.generated

    def as_json(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "regressions": self.regressions,
            "generated": self.generated,
            "hostile": self.hostile,
            "findings": [finding.as_json() for finding in self.findings],
        }


def run_case(case: Case, backend: Backend) -> tuple[bool, list[Finding]]:
    """Whether the case was executed, and its findings, each pointing at the case's file."""
    trial = try_case(case, backend)
    findings = list(judge(trial))
    if case.path is not None:
        findings = [replace(finding, case=case.name, saved=case.path) for finding in findings]
    return trial.executed, findings


def save(case: Case, findings: Sequence[Finding], folder: Path = SAVED) -> list[Finding]:
    """Write a generated case with findings to a file, and return the findings pointing at it."""
    path = folder / case.op / f"{findings[0].oracle}_{case_seed(case):08x}.yaml"
    why = f"Found by generated cases ({findings[0].oracle}):\n{findings[0].message}\n"
    casefile.write(replace(case, why=why), path)
    return [replace(finding, saved=path, case="generated") for finding in findings]


def check_op(
    op: str, backend: Backend, examples: int, seed: int, advance: Callable[[], None] = lambda: None
) -> OpResult:
    """All regression cases of an op and `examples` generated ones."""
    result = OpResult(op)
    try:
        backend.prepare(op)
    except BuildError as error:
        result.findings.append(Finding(op, backend.name, "build", f"the kernel does not compile\n{error}"))
        return result
    for path in casefile.regressions(op):
        ran, findings = run_case(casefile.read(path), backend)
        result.regressions += ran
        result.findings += findings
        advance()
    if examples:
        outcome = search(op, backend, examples, seed, advance)
        result.generated, result.hostile = outcome.executed, outcome.hostile
        if outcome.case is not None:
            result.findings += save(outcome.case, outcome.findings)
    return result


def check_cases(paths: Iterable[Path], backend: Backend) -> list[OpResult]:
    """Some case files, by op."""
    results: dict[str, OpResult] = {}
    for path in paths:
        case = casefile.read(path)
        result = results.setdefault(case.op, OpResult(case.op))
        try:
            backend.prepare(case.op)
        except BuildError as error:
            result.findings.append(Finding(case.op, backend.name, "build", f"the kernel does not compile\n{error}"))
            continue
        ran, findings = run_case(case, backend)
        result.regressions += ran
        result.findings += findings
    return list(results.values())


def prepare(ops: Sequence[str], backend: Backend) -> None:
    """Build the kernels of `ops`, several at a time. What does not compile is reported when its op is checked."""

    def build(op: str) -> None:
        try:
            backend.prepare(op)
        except BuildError:
            return

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(build, ops))
