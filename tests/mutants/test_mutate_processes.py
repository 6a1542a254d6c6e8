"""Mutants that end, spoil or hold up the process that judges them."""

import os
import signal
from pathlib import Path

import pytest

from opgold.harness.finding import Finding
from opgold.harness.gates.mutation import examine, golden
from opgold.harness.gates.mutation.kernels import Corrupted
from opgold.harness.gates.mutation.verdict import (
    DIED,
    ELSEWHERE,
    GOLDEN,
    Begun,
    Ended,
    Judged,
    Task,
    Unmutated,
    Verdict,
)
from opgold.kernels.mutants import Mutant

MUTANTS = tuple(Mutant(Path("x.cu"), line, 1, "constant", "1", "2", "a hint") for line in range(5))
TASK = Task("op", GOLDEN, 0, 0)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def perform(monkeypatch):
    """What is said of a task whose mutants do as told: each is a function of how many were tried before in the same
    process, which gives the oracle that catches it."""

    def perform(*acts, task=TASK, findings=(), start=lambda: None):
        class Fake:
            def __init__(self, task, mutants):
                start()
                self.findings, self.tried = list(findings), 0

            def blank(self, index):
                return Verdict(MUTANTS[index], 3, 2)

            def examine(self, index):
                self.tried += 1
                caught = acts[index](self.tried - 1)
                return Verdict(MUTANTS[index], 3, 2, caught, "a case" if caught else "")

        monkeypatch.setattr(golden, "Models", Fake)
        monkeypatch.setattr(golden, "listed", lambda op: MUTANTS[: len(acts)])
        monkeypatch.setattr(examine, "suite", lambda task: ("a case",))
        messages = list(examine.perform(task))
        assert isinstance(messages[0], Begun)
        assert isinstance(messages[-1], Ended)
        return messages[1:-1]

    return perform


def caught(messages):
    assert all(isinstance(message, Judged) for message in messages)
    return [message.verdict.caught for message in messages]


def test_one_that_ends_its_process_is_caught_and_the_next_is_judged(perform):
    messages = perform(lambda _: "values", lambda _: die(), lambda _: "", lambda _: os._exit(7), lambda _: "expect")
    assert caught(messages) == ["values", DIED, "", DIED, "expect"]
    assert messages[1].verdict == Verdict(MUTANTS[1], 3, 2, DIED)


def spoils(_):
    raise Corrupted(Verdict(MUTANTS[1], 3, 2, "values", "a case"))


def test_what_a_spoilt_process_says_is_asked_again_in_a_fresh_one(perform):
    """The second mutant shows that the process is spoilt, by the first one perhaps; alone it survives."""

    def second(before):
        return spoils(before) if before else ""

    assert caught(perform(lambda _: "values", second, lambda _: "race")) == ["values", "", "race"]


def test_one_that_spoils_a_fresh_process_is_caught(perform):
    assert caught(perform(lambda _: "values", spoils, lambda _: "race")) == ["values", "values", "race"]


def test_a_mistake_of_the_harness_is_no_catch(perform):
    messages = perform(lambda _: "values", lambda _: 1 // 0, lambda _: "values")
    assert [type(message) for message in messages] == [Judged, Unmutated]
    assert "ZeroDivisionError" in messages[1].finding.message


def test_a_process_that_the_unmutated_op_ends_is_a_finding(perform):
    (message,) = perform(lambda _: "values", start=die)
    assert message.finding.message == "the process that ran the unmutated cases ended with SIGKILL"


def test_findings_on_the_unmutated_op_are_said_once(perform):
    finding = Finding("op", "golden", "expect", "planted")
    messages = perform(lambda _: "values", lambda _: die(), lambda _: "values", findings=[finding])
    assert [m.finding for m in messages if isinstance(m, Unmutated)] == [finding]
    assert caught([m for m in messages if isinstance(m, Judged)]) == ["values", DIED, "values"]


def test_what_other_cases_have_caught_is_not_tried(perform):
    task = Task("op", GOLDEN, 0, 0, known=frozenset({MUTANTS[0]}))
    assert caught(perform(lambda _: die(), lambda _: "values", task=task)) == [ELSEWHERE, "values"]


def test_only_mutants_on_changed_lines_are_judged(perform):
    task = Task("op", GOLDEN, 0, 0, lines={Path("x.cu"): frozenset({1})})
    messages = perform(lambda _: die(), lambda _: "values", lambda _: die(), task=task)
    assert [message.verdict.mutant for message in messages] == [MUTANTS[1]]
    none = Task("op", GOLDEN, 0, 0, lines={Path("y.cu"): frozenset({1})})
    assert perform(lambda _: die(), task=none) == []
