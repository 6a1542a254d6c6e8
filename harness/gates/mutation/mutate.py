"""`opgold mutate`: the tasks of a run, and what comes of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opgold.harness.backends.base import Backend
from opgold.harness.gates import change
from opgold.harness.gates.mutation import driver
from opgold.harness.gates.mutation.equivalents import Equivalents
from opgold.harness.gates.mutation.golden_mutants import modules
from opgold.harness.gates.mutation.score import Outcome
from opgold.harness.gates.mutation.verdict import GOLDEN, Begun, Ended, Judged, Lines, Task
from opgold.harness.session import Progress
from opgold.kernels.mutants import Mutant
from opgold.kernels.sources import source_of, units_of, vendor_of, with_includes

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def tasks_of(
    ops: Sequence[str], backends: Sequence[Backend], golden: bool, examples: int, seed: int, lines: Lines | None
) -> list[Task]:
    """One for each op on each backend that has it, and on its golden model; with `lines`, only where a file of the op
    is among them."""
    tasks = []
    for op in ops:
        sides = [backend.name for backend in backends if backend.has(op)] + [GOLDEN] * golden
        for side in sides:
            if lines is None or not lines.keys().isdisjoint(files_of(op, side)):
                tasks.append(Task(op, side, examples, seed, lines))
    return tasks


def files_of(op: str, side: str) -> list[Path]:
    """The files whose mutants an op has on a side."""
    if side == GOLDEN:
        return modules(op)
    return with_includes(units_of(source_of(op, side)), vendor_of(side))


def changed_lines(base: str) -> Lines:
    """The lines of each file that changed since a revision, by their numbers now. Raises Unmeasurable."""
    changed = change.since(base)
    lines: dict[Path, set[int]] = {}
    present: set[int] = set()
    for row in changed.diff.splitlines():
        if row.startswith("+++ "):
            present = lines.setdefault((changed.root / row[4:].strip().removeprefix("b/")).resolve(), set())
        elif hunk := _HUNK.match(row):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            present.update(range(first, first + count))
    return {file: frozenset(numbers) for file, numbers in lines.items() if numbers}


def mutate(tasks: Sequence[Task], jobs: int, outcome: Outcome, equivalents: Equivalents, progress: Progress) -> None:
    """Judge the mutants of the tasks. What is known so far stands in `outcome` also when this is interrupted.

    Raises ProcessDied.
    """
    known: set[Mutant] = set()
    expected, ended = 0, 0
    for message in driver.judge([replace(task, equivalents=equivalents) for task in tasks], jobs):
        outcome.add(message)
        if isinstance(message, Begun):
            expected += len(message.mutants)
            progress.begin(expected)
            known |= equivalents.among(message.mutants)
            outcome.equivalent = known
        elif isinstance(message, Judged):
            progress.advance(1)
        elif isinstance(message, Ended):
            ended += 1
            progress.over(f"{message.about.op} on {message.about.side}: {outcome.judged(message.about)}")
        progress.doing(f"{message.about.op} on {message.about.side}, {ended} of {len(tasks)} done")
