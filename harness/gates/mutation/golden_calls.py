"""Calls of a golden model that are made again for every mutant: those of a case, and those of its relations."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from opgold.harness.case import Case
from opgold.harness.gates.mutation.suite import Ruled
from opgold.harness.oracles.metamorphic import twins
from opgold.harness.runner import call_golden, poisoned
from opgold.reference.schema import ContractError, Value

Left = Hashable  # what a call leaves behind


class ModelCall:
    """A case whose arguments are checked once. Raises ContractError if they are wrong."""

    def __init__(self, case: Case) -> None:
        self._signature = signature = case.signature
        shapes = signature.shapes(signature.bind(case.inputs, case.sizes))
        self._outputs = {n: (s, signature.dtype(signature.argument(n), case.inputs)) for n, s in shapes.items()}
        self._inputs = {
            name: np.ascontiguousarray(value) if isinstance(value, np.ndarray) and value.ndim else value
            for name, value in signature.complete(case.inputs).items()
        }

    def left(self, poison: int) -> Left:
        """What the model leaves behind: bytes of written arguments, or what it raises."""
        written = {argument.name for argument in self._signature.written}
        values: dict[str, Value] = {
            name: (value.copy() if name in written else value.view()) if isinstance(value, np.ndarray) else value
            for name, value in self._inputs.items()
        }
        values |= {name: poisoned(name, shape, dtype, poison) for name, (shape, dtype) in self._outputs.items()}
        try:
            arrays = call_golden(self._signature, values)
        except ContractError as refusal:
            return ("refused", str(refusal))
        except Exception as error:
            return ("failed", str(error))
        return tuple((name, array.shape, array.tobytes()) for name, array in arrays.items())


class ModelCalls:
    """The calls of a case, on both poisons, and of the twins that its relations make of it, on one.

    Where a mutant leaves the same in all of them as the unmutated model, no oracle can tell the two apart.
    """

    def __init__(self, ruled: Ruled) -> None:
        self._calls = list(_calls(ruled))
        self._expected: list[Left] = []

    def expect(self) -> None:
        """Take what the present model leaves for what the unmutated one does."""
        self._expected = list(self._left())

    def alike(self) -> bool:
        """Whether the present model leaves the same."""
        return all(left == expected for left, expected in zip(self._left(), self._expected, strict=True))

    def _left(self) -> Iterator[Left]:
        return (call.left(poison) for call, poison in self._calls)


def _calls(ruled: Ruled) -> Iterator[tuple[ModelCall, int]]:
    calls = [(ruled.case, 0), (ruled.case, 1)]
    if ruled.golden.refusal is None and ruled.golden.crash is None:
        calls += [(twin, 0) for _, twin in twins(ruled.case) if twin.inputs is not ruled.case.inputs]
    for case, poison in calls:
        try:
            yield ModelCall(case), poison
        except ContractError:
            continue  # refused for its shapes, whatever the model does
