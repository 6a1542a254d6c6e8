"""Generated cases: draws them with Hypothesis, stops at the first that has findings, and shrinks it."""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, strategies as st

from opgold.cases.sample import Sample
from opgold.harness.acceptance import Acceptance
from opgold.harness.backends.base import Backend
from opgold.harness.case import Case
from opgold.harness.finding import Finding
from opgold.harness.ledger import EMPTY, Ledger
from opgold.harness.locate import strategy
from opgold.harness.oracles import judge
from opgold.harness.runner import Trial, try_case

SHRINK_SECONDS = 20.0  # after a finding; a kernel that hangs costs seconds a try


@dataclass
class Outcome:
    """What a search did: how many cases it ran, how many of them hostile, which drafts the golden model accepted in
    lawful ones, the smallest case that has findings, and, once each kind, the findings that the ledger names."""

    executed: int = 0
    hostile: int = 0
    accepted: Acceptance = field(default_factory=Acceptance)
    findings: list[Finding] = field(default_factory=list)
    case: Case | None = None
    known: list[Finding] = field(default_factory=list)


class _Found(Exception):
    pass


def cases(op: str) -> st.SearchStrategy[Case]:
    """Cases of an op: four in five lawful, one hostile."""
    module = strategy(op)

    def case(hostile: bool) -> st.SearchStrategy[Case]:
        samples: st.SearchStrategy[Sample] = module.hostile() if hostile else module.samples()
        return samples.map(lambda sample: Case.of(op, sample, hostile=hostile))

    return st.integers(0, 4).flatmap(lambda kind: case(kind == 4))


def generating(**settings: Any) -> hypothesis.settings:
    """Settings under which Hypothesis generates quietly, from the seed alone, and takes the time it needs."""
    return hypothesis.settings(
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        **{"derandomize": False, **settings},
    )


def search(
    op: str,
    backend: Backend,
    examples: int,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
    ledger: Ledger = EMPTY,
) -> Outcome:
    """Run `examples` generated cases of an op. The op's name is part of the seed: no two ops draw the same sequence.

    It goes on past findings that the ledger names, so that they hide no others.
    """
    outcome = Outcome()
    kinds: set[tuple[str, ...]] = set()
    deadline = [float("inf")]

    def attempt(case: Case) -> None:
        if time.monotonic() > deadline[0]:
            return  # shrinking has had its time: the smallest case so far stands
        trial = try_case(case, backend)
        if outcome.case is None:
            outcome.executed += trial.executed
            outcome.hostile += trial.executed and trial.hostile
            outcome.accepted.add(accepted(trial))
            advance()
        findings, known = ledger.split(op, judge(trial))
        outcome.known += [each.finding for each in known if each.finding.kind not in kinds]
        kinds.update(each.finding.kind for each in known)
        if not findings:
            return
        if outcome.case is None:
            deadline[0] = time.monotonic() + SHRINK_SECONDS
        if outcome.case is None or _size(case) <= _size(outcome.case):
            outcome.case, outcome.findings = case, findings
        raise _Found

    # flaky: shrinking ran out of time, or the kernel is not deterministic; the outcome holds what was seen
    with contextlib.suppress(_Found, hypothesis.errors.Flaky, hypothesis.errors.FlakyFailure):
        _generate(op, max(examples, 1), seed, attempt, Phase.generate, Phase.shrink)
    return outcome


def draw(op: str, examples: int, seed: int = 0) -> list[Case]:
    """The cases that `search` runs where none has a finding."""
    drawn: list[Case] = []

    def keep(case: Case) -> None:
        drawn.append(case)

    if examples:
        _generate(op, examples, seed, keep, Phase.generate)
    return drawn


def _generate(op: str, examples: int, seed: int, take: Callable[[Case], None], *phases: Phase) -> None:
    run = hypothesis.given(cases(op))(take)
    run = generating(max_examples=examples, phases=phases)(run)
    hypothesis.seed(zlib.crc32(f"{op}:{seed}".encode()))(run)()


def accepted(trial: Trial) -> Iterable[tuple[int, int]]:
    """Drafts of each slot and how many the golden model accepted, if the op's strategy tells (`accepted`)."""
    tell = getattr(strategy(trial.case.op), "accepted", None)
    if tell is None or trial.hostile or not trial.golden.arrays:
        return ()
    pairs: Iterable[tuple[int, int]] = tell(trial.case.inputs, trial.golden.arrays)
    return pairs


def _size(case: Case) -> int:
    """How much there is to read in a case, roughly."""
    return sum(getattr(value, "nbytes", 8) for value in case.inputs.values())
