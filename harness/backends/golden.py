"""The golden models as a backend: what is compared with it is compared with the model itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgold.harness.backends.base import Backend, Variant
from opgold.kernels.report import Report
from opgold.reference import schema
from opgold.reference.schema import Signature, Value


class GoldenBackend(Backend):
    """Computes with the golden model. A refusal is the report's error. `spoil` is a hook for planted faults."""

    name = "golden"

    def unavailable(self) -> str:
        return ""

    def has(self, op: str) -> bool:
        return op in schema.ops()

    def prepare(self, op: str) -> None:
        return None

    def call(self, signature: Signature, values: Mapping[str, Value], variant: Variant) -> Report:
        outputs = {a.name: array for a in signature.outputs if isinstance(array := values[a.name], np.ndarray)}
        try:
            signature.call({name: value for name, value in values.items() if name not in outputs}, outputs)
        except schema.ContractError as refusal:
            return Report(error=str(refusal), seconds=0.0)
        return self.spoil(values, outputs, variant) or Report(error=None, seconds=0.0)

    def spoil(self, values: Mapping[str, Value], outputs: Mapping[str, np.ndarray], variant: Variant) -> Report | None:
        """Nothing; a test overrides it to plant a fault in the results or in the report."""
        return None
