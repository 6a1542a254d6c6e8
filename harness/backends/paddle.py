"""opgold's own ops as Paddle custom operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from opgold.harness.backends.base import Variant
from opgold.harness.backends.module import Module
from opgold.kernels.build import BuildError, MissingCompiler
from opgold.kernels.report import Report
from opgold.reference.schema import Signature, Value


class Paddle(Module):
    """`module:opgold.paddle`, with what the emulator reports of each call."""

    emulated = True
    hostile = True

    def __init__(self) -> None:
        super().__init__("module:opgold.paddle")
        self.name = "paddle"

    def unavailable(self) -> str:
        if reason := super().unavailable():
            return reason
        from opgold.harness.paddle import operators

        try:
            operators.registered()
        except (MissingCompiler, BuildError) as error:
            return str(error)
        return ""

    def prepare(self, op: str) -> None:
        from opgold.harness.paddle import operators

        super().prepare(op)
        operators.registered().bind(op)

    def call(self, signature: Signature, values: Mapping[str, Value], variant: Variant) -> Report:
        from opgold.harness.paddle import operators

        ours = operators.registered()
        with ours.varied(schedule=variant.schedule, shift=variant.shift, seed=variant.seed):
            called, seen = super().call(signature, values, variant), ours.report
        if seen is None:
            return called
        faults = [*seen.faults, *called.faults]
        return replace(seen, error=called.error, given=called.given, addresses=called.addresses, faults=faults)
