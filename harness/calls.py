"""Calls of a sequence: made on the driver and, on a copy of the same state, on a backend, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from opgold.harness.backends.base import Backend, Variant
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.finding import Finding
from opgold.harness.runner import same_bits
from opgold.kernels.report import Report
from opgold.reference.schema import Signature, load

ORACLE = "sequence"
ORDERS = ("ascending", "descending", "random")
PER_SLOT = ("bsz", "max_bsz", "slots")  # what signatures call the extent over slots


class Violation(NamedTuple):
    """`rule` is what does not hold, in words; `got` stands in `argument`; `share` says which slot, and its state."""

    rule: str
    share: object | None
    argument: str
    expected: Any
    got: Any


class Found(Exception):
    """Ends a step at its first findings: those behind them follow from them."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__()
        self.findings = list(findings)


class Calls:
    """Makes calls one by one. `where` names the step in findings, `compared` counts calls that came through on both
    sides."""

    def __init__(self, backend: Backend | None = None, driver: Backend | None = None) -> None:
        self.where = ""
        self.compared = 0
        self._backend = backend
        self._driver = driver or GoldenBackend()
        self._made = 0

    def hold(self, op: str, violations: Iterable[Violation]) -> None:
        """Raise Found for the first violation."""
        for rule, share, argument, expected, got in violations:
            raise Found(
                Finding(
                    op,
                    self._driver.name,
                    ORACLE,
                    f"{self.where}: {rule}",
                    argument,
                    None,
                    str(expected),
                    str(got),
                    str(share) if share else None,
                    cause=rule,
                )
            )

    def make(
        self, op: str, values: dict[str, Any], shares: Mapping[int, object], violations: Iterable[Violation] = ()
    ) -> None:
        """Make a call on both sides and compare; `violations` are looked for after it. Raises Found."""
        signature = load(op)
        copies = None
        if self._backend is not None and self._backend.has(op):
            copies = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in values.items()}
        failed = self._failure(self._driver, signature, values, Variant())
        if failed is not None:
            raise Found(self._refused(op, self._driver, failed))
        if copies is not None:
            self._compare(signature, values, copies, shares)
        self.hold(op, violations)

    def _failure(
        self, backend: Backend, signature: Signature, values: dict[str, Any], variant: Variant
    ) -> Report | str | None:
        try:
            report = backend.call(signature, values, variant)
        except Exception as error:
            return f"fails: {type(error).__name__}: {error}"
        return report if report.error is not None or report.faults else None

    def _refused(self, op: str, backend: Backend, failure: Report | str, variant: Variant | None = None) -> Finding:
        """What a call that did not come through, or not without a fault, is reported as."""
        cause = None
        if isinstance(failure, str):
            message = failure
        elif failure.faults:
            fault = failure.faults[0]
            message = str(fault)
            where = fault.place.frames[0] if fault.place.frames else (fault.file, fault.line)
            cause = f"{fault.kind} {fault.argument} {where}"
        else:
            message = f"refuses what the sequence brings: {failure.error}"
        text = str(variant) if variant else None
        return Finding(op, backend.name, ORACLE, f"{self.where}: {message}", variant=text, cause=cause or message)

    def _compare(
        self, signature: Signature, values: dict[str, Any], copies: dict[str, Any], shares: Mapping[int, object]
    ) -> None:
        """Call the backend on the copies; every argument must come out as from the driver."""
        backend, number = self._backend, self._made
        assert backend is not None
        self._made += 1
        variant = Variant(ORDERS[number % len(ORDERS)], number % 4, 0, number)
        failed = self._failure(backend, signature, copies, variant)
        if failed is not None:
            raise Found(self._refused(signature.op, backend, failed, variant))
        self.compared += 1
        found = []
        for argument in signature.arguments:
            expected, got = values[argument.name], copies[argument.name]
            if expected is None or expected.tobytes() == got.tobytes():
                continue
            index = tuple(int(i) for i in np.argwhere(~same_bits(expected, got))[0])
            slot = index[0] if argument.dims[0] in PER_SLOT else None
            share = shares.get(slot) if slot is not None else None
            found.append(
                Finding(
                    signature.op,
                    backend.name,
                    ORACLE,
                    f"{self.where}: another value than the golden model's",
                    argument.name,
                    index,
                    str(expected[index]),
                    str(got[index]),
                    str(share) if share else None if slot is None else f"slot {slot} (idle)",
                    str(variant),
                )
            )
        if found:
            raise Found(*found)
