"""Calls that are over, played again: a backend that has nothing but them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgold.harness.backends.base import Backend, Variant
from opgold.harness.backends.module import Module
from opgold.harness.case import Case
from opgold.harness.paddle.observed import Observed, digest
from opgold.harness.runner import Golden
from opgold.kernels.report import Report
from opgold.reference.schema import Signature, Value


class Played(Backend):
    """Plays calls of `module`, each found by the content of its inputs. Hostile ones are those that were outside the
    op's contract: where the op took them, that is reported."""

    allocates = True
    sequences = False
    variants = (Variant(told="as the program made the call"),)

    def __init__(self, name: str, module: Module) -> None:
        self.name = name
        self.module = module
        self._calls: dict[bytes, tuple[Observed, str | None]] = {}

    def add(self, case: Case, observed: Observed) -> None:
        """Keep a call, and the case that it is; `refused` says why it is outside the contract."""
        self._calls[_content(case.signature, case.inputs)] = observed, case.refused

    def unavailable(self) -> str:
        return ""

    def has(self, op: str) -> bool:
        return self.module.has(op)

    def prepare(self, op: str) -> None:
        return None

    def takes(self, case: Case) -> Case | None:
        known = _content(case.signature, case.inputs) in self._calls
        return case if known and not self.module.left_out(case.op) else None

    def specified(self, case: Case, golden: Golden) -> dict[str, np.ndarray]:
        return self.module.specified(case, golden)

    def call(self, signature: Signature, values: Mapping[str, Value], variant: Variant) -> Report:
        observed, outside = self._calls[_content(signature, values)]
        return observed.play(values, outside)


def _content(signature: Signature, values: Mapping[str, Value]) -> bytes:
    """A key of a call's inputs and attributes."""
    given = signature.complete({name: value for name, value in values.items() if value is not None})
    return digest(signature.op, given.items())
