"""Further generated cases: the tasks of a search for such as catch what survived, and those that do, as files."""

from __future__ import annotations

import pickle
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from opgold.harness import casefile
from opgold.harness.case import Case
from opgold.harness.gates.mutation.equivalents import plain
from opgold.harness.gates.mutation.score import Outcome
from opgold.harness.gates.mutation.verdict import Side, Task, Verdict
from opgold.kernels.mutants import Mutant


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


def keep(verdicts: Iterable[Verdict], folder: Path) -> Mapping[Path, list[Mutant]]:
    """Write each case that catches something, as a file `OP/NAME.yaml` in a folder. Returns what each catches."""
    caught: dict[bytes, list[Mutant]] = defaultdict(list)  # by content: what processes draw under one name may differ
    for verdict in verdicts:
        if verdict.found is not None:
            caught[pickle.dumps(verdict.found)].append(verdict.mutant)
    written = {}
    for content, mutants in caught.items():
        case: Case = pickle.loads(content)
        path = _free(folder / case.op, mutants[0])
        why = "Catches what no other case did:\n" + "".join(f"* {_said(mutant)}\n" for mutant in mutants)
        casefile.write(replace(case, why=why), path)
        written[path] = mutants
    return written


def _said(mutant: Mutant) -> str:
    before, after = plain(mutant.before), plain(mutant.after)
    if len(before) > 70:
        before, after = f"{before[:70]} ...", "another"
    return f"{mutant.file.name}: {mutant.operator}, `{before}` becomes {f'`{after}`' if after else 'nothing'}"


def _free(folder: Path, mutant: Mutant) -> Path:
    """A name that tells what is caught, and is not taken."""
    words = re.findall(r"[a-z0-9]+", f"{mutant.operator} {mutant.before}".lower())
    name = "_".join(dict.fromkeys(words))[:50].strip("_")
    path, number = folder / f"{name}.yaml", 2
    while path.exists():
        path, number = folder / f"{name}_{number}.yaml", number + 1
    return path
