"""Calls of a case that are made many times: arguments are made once, and a call copies only what it writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgold.harness.backends.base import Backend, Variant
from opgold.harness.gates.mutation.suite import Ruled
from opgold.harness.runner import Run, arguments, callable_with, variants
from opgold.reference.schema import ContractError, Value

LEAST_LIMIT, PATIENCE = 0.05, 10.0  # processor seconds of a launch; times what the unmutated kernel needs


@dataclass(frozen=True, eq=False)
class Call:
    """One variant of a case. `values` are the arguments before it, `siblings` all calls of the case."""

    ruled: Ruled
    variant: Variant
    values: Mapping[str, Value]
    siblings: list[Call]

    @cached_property
    def _written(self) -> frozenset[str]:
        return frozenset(argument.name for argument in self.ruled.case.signature.written)

    def run(self, backend: Backend) -> Run:
        """Call the op. An emulator leaves arrays alone that the op only reads."""
        values = {
            name: value.copy() if name in self._written and isinstance(value, np.ndarray) else value
            for name, value in self.values.items()
        }
        report = backend.call(self.ruled.case.signature, values, self.variant)
        return Run(self.variant, {n: v for n, v in values.items() if isinstance(v, np.ndarray)}, report)

    def state(self, run: Run) -> State:
        """What a run left behind."""
        written = {name: run.arrays[name].tobytes() for name in self._written if name in run.arrays}
        return State(written, run.report.error, tuple(fault.kind for fault in run.report.faults))


@dataclass(frozen=True)
class State:
    """What a call leaves behind: bytes of written arrays, the launcher's refusal, kinds of faults."""

    written: Mapping[str, bytes]
    error: str | None
    faults: tuple[str, ...]


def calls_of(ruled: Ruled, backend: Backend) -> list[Call]:
    """The calls of a case, in the order of its variants; none if there is nothing to call."""
    if not callable_with(ruled.case, ruled.golden):
        return []
    chosen = variants(ruled.case, backend)
    try:
        poisoned = {poison: arguments(ruled.case, poison) for poison in {variant.poison for variant in chosen}}
    except ContractError:
        return []  # shapes themselves are wrong
    siblings: list[Call] = []
    siblings += (Call(ruled, variant, poisoned[variant.poison], siblings) for variant in chosen)
    return siblings
