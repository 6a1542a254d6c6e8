"""Looks among further generated cases for such as catch what survived, and keeps those that do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from opgold.harness import casefile
from opgold.harness.case import Case
from opgold.harness.gates.mutation import driver
from opgold.harness.gates.mutation.equivalents import path_of
from opgold.harness.gates.mutation.score import Outcome
from opgold.harness.gates.mutation.verdict import Begun, Ended, Judged, Side, Task
from opgold.harness.session import Progress
from opgold.kernels.mutants import Mutant


@dataclass(frozen=True)
class Catch:
    """A generated case that catches a mutant, and the case's name."""

    name: str
    case: Case
    mutant: Mutant


def tasks_of(outcome: Outcome, examples: int, seed: int) -> list[Task]:
    """A task for each op and side with survivors: `examples` cases of another seed than those that they survived."""
    of: dict[Side, set[Mutant]] = defaultdict(set)
    for survivor in outcome.survivors:
        for op in survivor.ops:
            of[Side(op, survivor.side)].add(survivor.mutant)
    return [
        Task(about.op, about.side, examples, seed + 1, survivors=frozenset(of[about]))
        for about in outcome.verdicts
        if of[about]
    ]


def search(tasks: list[Task], jobs: int, progress: Progress) -> Iterator[Catch]:
    """What catches survivors, one case a mutant. Raises ProcessDied."""
    expected = 0
    for message in driver.judge(tasks, jobs):
        if isinstance(message, Begun):
            expected += len(message.mutants)
            progress.begin(expected)
        elif isinstance(message, Judged):
            progress.advance(1)
            verdict = message.verdict
            if verdict.found is not None:
                yield Catch(verdict.case, verdict.found, verdict.mutant)
        elif isinstance(message, Ended):
            progress.over(f"{message.about.op} on {message.about.side}: searched")
        progress.doing(f"searching for cases of {message.about.op} on {message.about.side}")


def keep(catches: Iterable[Catch], folder: Path) -> Mapping[Path, list[Mutant]]:
    """Write each case that catches something, as a file `OP/NAME.yaml` in a folder. Returns what each catches."""
    cases: dict[tuple[str, str], Case] = {}
    caught: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for catch in catches:
        key = catch.case.op, catch.name
        cases.setdefault(key, catch.case)
        caught[key].append(catch.mutant)
    written = {}
    for key, mutants in caught.items():
        path = _free(folder / key[0], mutants[0])
        why = "Catches what no other case did:\n" + "".join(f"* {_said(mutant)}\n" for mutant in mutants)
        casefile.write(replace(cases[key], why=why), path)
        written[path] = mutants
    return written


def _said(mutant: Mutant) -> str:
    before, after = (" ".join(text.split()) for text in (mutant.before, mutant.after))
    if len(before) > 70:
        before, after = f"{before[:70]} ...", "another"
    return f"{Path(path_of(mutant)).name}: {mutant.operator}, `{before}` becomes {f'`{after}`' if after else 'nothing'}"


def _free(folder: Path, mutant: Mutant) -> Path:
    """A name that tells what is caught, and is not taken."""
    words = re.findall(r"[a-z0-9]+", f"{mutant.operator} {mutant.before}".lower())
    name = "_".join(dict.fromkeys(words))[:50].strip("_")
    path, number = folder / f"{name}.yaml", 2
    while path.exists():
        path, number = folder / f"{name}_{number}.yaml", number + 1
    return path
