"""The cases that judge an op's mutants, with what the golden model makes of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from opgold.harness import casefile
from opgold.harness.case import Case
from opgold.harness.gates.mutation.verdict import Task
from opgold.harness.runner import Golden, run_golden
from opgold.harness.search import draw


@dataclass(frozen=True, eq=False)
class Ruled:
    """A case and what the unmutated golden model makes of it. `size` is how many elements it has, `index` its number
    among the generated ones."""

    case: Case
    golden: Golden
    index: int | None = None

    @property
    def name(self) -> str:
        return self.case.name if self.index is None else f"generated {self.index}"

    @property
    def hostile(self) -> bool:
        return self.case.refused is not None

    @property
    def size(self) -> int:
        return sum(value.size for value in self.case.inputs.values() if isinstance(value, np.ndarray))


def suite(task: Task) -> tuple[Ruled, ...]:
    """The cases of a task: kept ones, then generated ones."""
    if task.alone is not None:
        return (Ruled(task.alone, run_golden(task.alone)),)
    if task.survivors is not None:
        return _generated(task.op, task.examples, task.seed)
    return (*_kept(task.op), *_generated(task.op, task.examples, task.seed))


@lru_cache(maxsize=1)  # a worker does the sides of an op one after another
def _kept(op: str) -> tuple[Ruled, ...]:
    return tuple(Ruled(case, run_golden(case)) for case in map(casefile.read, casefile.regressions(op)))


@lru_cache(maxsize=1)
def _generated(op: str, examples: int, seed: int) -> tuple[Ruled, ...]:
    return tuple(Ruled(case, run_golden(case), number) for number, case in enumerate(draw(op, examples, seed), 1))
