"""The processes that judge the mutants of a task: one after another, as mutants end or spoil them.

A child says which mutant it tries before it tries it. When it dies, that mutant has ended it, and another child goes on
with the next. What spoils a child without ending it shows when the unmutated kernel gives something else than before:
then the mutant is tried again in a fresh child, where nothing came before it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
import warnings
from collections.abc import Generator, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Protocol

from opgold.harness.backends.worker import leave_with_parent
from opgold.harness.finding import Finding
from opgold.harness.gates.mutation import golden, kernels
from opgold.harness.gates.mutation.kernels import Corrupted
from opgold.harness.gates.mutation.suite import suite
from opgold.harness.gates.mutation.verdict import (
    DIED,
    ELSEWHERE,
    GOLDEN,
    Begun,
    Ended,
    Judged,
    Message,
    Task,
    Unmutated,
    Verdict,
    chosen,
)
from opgold.kernels.build import BuildError
from opgold.kernels.mutants import Mutant

FORK = multiprocessing.get_context("fork")  # a child starts with the cases, drawn and judged, at hand


class Examiner(Protocol):
    """What judges the mutants of a task. `findings` are those on the unmutated kernel or model."""

    findings: list[Finding]

    def blank(self, index: int) -> Verdict:
        """The verdict on a mutant before it is tried."""

    def examine(self, index: int) -> Verdict:
        """The verdict on a mutant. Raises Corrupted with it, if this process is spoilt."""


def listed(task: Task) -> tuple[Mutant, ...]:
    """All mutants of a task's op on its side."""
    return golden.listed(task.op) if task.side == GOLDEN else kernels.listed(task.op, task.side)


def perform(task: Task) -> Iterator[Message]:
    """Judge the mutants of a task. The device is opened by children alone."""
    mutants = listed(task)
    todo = chosen(mutants, task)
    if not todo:
        yield Begun(task.about, (), 0)
        yield Ended(task.about)
        return
    yield Begun(task.about, tuple(mutants[i] for i in todo), len(suite(task)))
    first = True
    while todo or first:
        ended = yield from _child(task, mutants, todo, tell=first)
        if not ended:
            break
        first = False
    yield Ended(task.about)


def _child(task: Task, mutants: tuple[Mutant, ...], todo: list[int], *, tell: bool) -> Generator[Message, None, bool]:
    """Judge mutants in a child, and take them from `todo`, until it has done all or ends. Returns whether another may
    go on."""
    ours, theirs = FORK.Pipe()
    child = FORK.Process(target=_examine, args=(theirs, task, mutants, tuple(todo), tell))
    child.start()
    theirs.close()
    fresh, trying = True, None
    try:
        while True:
            message = ours.recv()
            if isinstance(message, Finding):
                yield Unmutated(task.about, message)
            elif isinstance(message, Corrupted):
                if fresh:  # nothing came before it: what was seen of it counts
                    todo.pop(0)
                    yield _judged(task, message.verdict)
                return True
            elif trying is None:
                trying = message
            else:
                todo.pop(0)
                yield _judged(task, message)
                fresh, trying = fresh and message.caught == ELSEWHERE, None
    except EOFError:
        child.join()
    finally:
        ours.close()
        child.kill()
        child.join()
    if not todo:
        return True
    if child.exitcode == 0:
        return False  # it has said why it stopped
    if trying is None:
        message = f"the process that ran the unmutated cases ended with {_ending(child.exitcode)}"
        yield Unmutated(task.about, Finding(task.op, task.side, "launch", message))
        return False
    todo.pop(0)
    yield Judged(task.about, Verdict(trying.mutant, trying.reached, trying.infected, DIED))
    return True


def _judged(task: Task, verdict: Verdict) -> Judged:
    """A verdict; in a search with the case that catches the mutant."""
    if task.survivors is not None and verdict.case:
        found = next(ruled.case for ruled in suite(task) if ruled.name == verdict.case)
        verdict = replace(verdict, found=found)
    return Judged(task.about, verdict)


def _ending(code: int | None) -> str:
    if code is None:
        return "no exit code"
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def _examine(
    connection: Connection, task: Task, mutants: tuple[Mutant, ...], todo: tuple[int, ...], tell: bool
) -> None:
    """In a child: send for each mutant what is known of it before it is tried, and its verdict; between these findings
    on the unmutated op."""
    leave_with_parent(os.getppid())
    warnings.simplefilter("ignore")  # a mutant may overflow
    try:
        _examine_all(connection, task, mutants, todo, tell=tell)
    except BrokenPipeError:
        return
    except BuildError as error:
        connection.send(Finding(task.op, task.side, "build", f"the kernel does not compile with its mutants\n{error}"))
    except Exception:  # a mistake of ours must not pass for a mutant's end
        said = f"its mutants cannot be judged\n{traceback.format_exc()}"
        connection.send(Finding(task.op, task.side, "launch", said))


def _examine_all(
    connection: Connection, task: Task, mutants: tuple[Mutant, ...], todo: tuple[int, ...], *, tell: bool
) -> None:
    examiner: Examiner = (golden.Models if task.side == GOLDEN else kernels.Kernels)(task, mutants)
    told = 0 if tell else len(examiner.findings)
    for index in todo:
        blank = examiner.blank(index)
        connection.send(blank)
        answer: Verdict | Corrupted
        try:
            known = blank.mutant in task.known
            answer = replace(blank, caught=ELSEWHERE) if known else examiner.examine(index)
        except Corrupted as corrupted:
            answer = corrupted
        for finding in examiner.findings[told:]:
            connection.send(finding)
        told = len(examiner.findings)
        connection.send(answer)
        if isinstance(answer, Corrupted):
            return
