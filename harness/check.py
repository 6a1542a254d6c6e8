"""The main job: cases and sequences, kept and generated, on a backend, and what came of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opgold.harness import casefile, sequences
from opgold.harness.acceptance import Acceptance
from opgold.harness.annotations import Annotations
from opgold.harness.backends.base import NO_CALL, Backend
from opgold.harness.case import Case
from opgold.harness.finding import Finding, Known
from opgold.harness.ledger import EMPTY, Ledger
from opgold.harness.oracles import GOLDEN, KERNEL, SEQUENCES, judge
from opgold.harness.runner import case_seed, try_case
from opgold.harness.search import search
from opgold.kernels.build import BuildError

SAVED = Path(".opgold") / "findings"


@dataclass
class OpResult:
    """One op, or one kind of sequences, on one backend: which oracles looked, which kept cases ran and how many
    generated ones, how often drafts were accepted in these, and the findings, those apart that the ledger names."""

    op: str
    kept: list[str] = field(default_factory=list)
    generated: int = 0
    hostile: int = 0
    accepted: Acceptance = field(default_factory=Acceptance)
    findings: list[Finding] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    oracles: Sequence[str] = tuple(GOLDEN | KERNEL)

    @property
    def regressions(self) -> int:
        return len(self.kept)

    @property
    def executed(self) -> int:
        return self.regressions + self.generated

    def as_json(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "regressions": self.regressions,
            "generated": self.generated,
            "hostile": self.hostile,
            "accepted": self.accepted.as_json() if self.accepted.slots else None,
            "findings": [finding.as_json() for finding in self.findings],
            "known": [known.as_json() for known in self.known],
        }


def run_case(case: Case, backend: Backend, annotations: Annotations | None = None) -> tuple[bool, list[Finding]]:
    """Whether the case was executed, and its findings, each pointing at the case's file."""
    trial = try_case(case, backend)
    if annotations is not None:
        annotations.add(trial)
    findings = list(judge(trial))
    if case.path is not None:
        findings = [finding.of_file(case.path) for finding in findings]
    return trial.executed, findings


def save(case: Case, findings: Sequence[Finding], folder: Path = SAVED) -> list[Finding]:
    """Write a generated case with findings to a file, and return the findings pointing at it."""
    path = folder / case.op / f"{findings[0].oracle}_{case_seed(case):08x}.yaml"
    why = f"Found by generated cases ({findings[0].oracle}):\n{findings[0].message}\n"
    casefile.write(replace(case, why=why), path)
    return [replace(finding, saved=path, case="generated") for finding in findings]


def unprepared(what: str, backend: Backend, error: Exception) -> Finding:
    """That something cannot be called, in the words of `Backend.prepare`."""
    text = f"a kernel does not compile\n{error}" if isinstance(error, BuildError) else str(error)
    return Finding(what, backend.name, "build", text)


def check_op(
    op: str,
    backend: Backend,
    examples: int,
    seed: int,
    advance: Callable[[], None] = lambda: None,
    ledger: Ledger = EMPTY,
) -> OpResult:
    """All regression cases of an op and `examples` generated ones, which do not end at what the ledger names."""
    result = OpResult(op)
    try:
        backend.prepare(op)
    except NO_CALL as error:
        result.findings.append(unprepared(op, backend, error))
        return result
    annotations = Annotations(op, backend.name)
    for path in casefile.regressions(op):
        ran, findings = run_case(casefile.read(path), backend, annotations)
        result.kept += [path.stem] * ran
        result.findings += findings
        advance()
    result.findings += annotations.idle()
    if examples:
        outcome = search(op, backend, examples, seed, advance, ledger)
        result.generated, result.hostile, result.accepted = outcome.executed, outcome.hostile, outcome.accepted
        result.findings += outcome.known
        if outcome.case is not None:
            result.findings += save(outcome.case, outcome.findings)
    return result


class ProcessDied(RuntimeError):
    """One of several processes side by side ended without an answer."""


def check_named(
    name: str,
    backend: Backend,
    examples: int,
    seed: int,
    advance: Callable[[], None] = lambda: None,
    ledger: Ledger = EMPTY,
) -> OpResult:
    """An op, or a kind of sequences."""
    if name in sequences.NAMES:
        return check_sequences(name, backend, examples, seed, advance)
    return check_op(name, backend, examples, seed, advance, ledger)


def check_side_by_side(
    names: Sequence[str],
    backend: str,
    examples: int,
    seed: int,
    jobs: int,
    advance: Callable[[int], None],
    ledger: Ledger = EMPTY,
) -> list[OpResult]:
    """Several ops, each in one of `jobs` processes of their own. `advance` is told how many cases an op has run."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_ignore_interrupts) as pool:
        running = {pool.submit(_check_in_process, name, backend, examples, seed, ledger): name for name in names}
        for done in as_completed(running):
            advance(examples + len(sequences.kept(running[done])))
        try:
            results = {name: done.result() for done, name in running.items()}
        except BrokenProcessPool as error:
            raise ProcessDied("a process that checked an op died; run again with --jobs 1 to see which") from error
    return [results[name] for name in names]


def _check_in_process(name: str, backend: str, examples: int, seed: int, ledger: Ledger) -> OpResult:
    from opgold.harness import backends

    return check_named(name, backends.get(backend), examples, seed, ledger=ledger)


def _ignore_interrupts() -> None:
    """The parent ends its processes; each of them need not tell of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def check_sequences(
    name: str, backend: Backend, examples: int, seed: int, advance: Callable[[], None] = lambda: None
) -> OpResult:
    """All kept sequences of a kind and `examples` generated ones. An op that the backend lacks is played on its model
    alone."""
    result = OpResult(name, oracles=tuple(SEQUENCES))
    if not _prepared(backend, result):
        return result
    for path in sequences.saved(name):
        _replay(read(path), backend, result)
        advance()
    if examples:
        outcome = sequences.part(name, "machine").search(backend, examples, seed, advance)
        result.generated = outcome.executed
        result.accepted = getattr(outcome, "accepted", result.accepted)  # rounds simulate verification
        if outcome.script is not None:
            result.findings += save_sequence(outcome.script, outcome.findings)
    return result


def save_sequence(script: Any, findings: Sequence[Finding], folder: Path = SAVED) -> list[Finding]:
    """Write a generated sequence with findings to a file, and return the findings pointing at it."""
    name = sequences.name_of(script)
    path = folder / name / f"{findings[0].op}_{zlib.crc32(repr(script).encode()):08x}.yaml"
    sequences.part(name, "scriptfile").write(
        replace(script, why=f"Found by generated sequences:\n{findings[0].message}"), path
    )
    return [replace(finding, saved=path, case="generated") for finding in findings]


def _prepared(backend: Backend, result: OpResult) -> bool:
    """Whether everything that sequences call on the backend is built; what does not compile is noted."""
    try:
        for op in filter(backend.has, sequences.ops(result.op)):
            backend.prepare(op)
    except NO_CALL as error:
        result.findings.append(unprepared(result.op, backend, error))
        return False
    return True


def _replay(script: Any, backend: Backend, result: OpResult) -> None:
    played = sequences.part(result.op, "play").play(script, backend)
    if played.rounds or played.findings:
        result.kept.append(script.path.stem)
    result.findings += played.findings


def read(path: Path) -> Any:
    """What a file holds: a case, or a sequence of some kind. Raises CaseError."""
    document = casefile.document_of(path)
    return sequences.parse(document, path) if sequences.is_sequence(document) else casefile.parse(document, path)


def check_cases(paths: Iterable[Path], backend: Backend) -> list[OpResult]:
    """Some case files, by op; sequences of a kind together."""
    results: dict[str, OpResult] = {}
    for path in paths:
        case = read(path)
        if not isinstance(case, Case):
            name = sequences.name_of(case)
            result = results.setdefault(name, OpResult(name, oracles=tuple(SEQUENCES)))
            if _prepared(backend, result):
                _replay(case, backend, result)
            continue
        result = results.setdefault(case.op, OpResult(case.op))
        try:
            backend.prepare(case.op)
        except NO_CALL as error:
            result.findings.append(unprepared(case.op, backend, error))
            continue
        ran, findings = run_case(case, backend)
        result.kept += [case.name] * ran
        result.findings += findings
    return list(results.values())


def prepare(ops: Sequence[str], backend: Backend) -> None:
    """Build the kernels of `ops`, several at a time. What does not compile is reported when its op is checked."""

    def build(op: str) -> None:
        try:
            backend.prepare(op)
        except NO_CALL:
            return

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(build, ops))
