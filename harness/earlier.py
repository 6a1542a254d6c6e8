"""Other data for a call before a case's own: what a kernel keeps from call to call then shows in the case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from opgold.harness.case import Case
from opgold.reference.schema import Signature, Value, names_in


def other_data(case: Case) -> Iterator[Case]:
    """Cases of the same shapes and zeros everywhere: one with half of every attribute that is no size, one with the
    attributes as they are. Which of them the golden model takes is for the caller to find out."""
    signature = case.signature
    inputs: dict[str, Value] = {n: np.zeros_like(v) if isinstance(v, np.ndarray) else v for n, v in case.inputs.items()}
    given = {name for argument in signature.arguments for dim in argument.dims for name in names_in(dim)}
    halves: dict[str, Value] = {}
    for attribute in signature.attributes:
        value = signature.complete(inputs)[attribute.name]
        if attribute.name not in given and isinstance(value, int | float) and not isinstance(value, bool):
            halves[attribute.name] = value // 2 if isinstance(value, int) else value / 2
    zeros = replace(case, inputs=inputs, sizes=_sizes(signature, case), expect={}, refused=None)
    yield replace(zeros, inputs=inputs | halves)
    yield zeros


def _sizes(signature: Signature, case: Case) -> dict[str, int]:
    """The sizes that no input binds, as the case has them: they may follow from values."""
    if signature.sizes is None:
        return {}
    symbols = signature.bind(case.inputs, case.sizes)
    bound = {attribute.name for attribute in signature.attributes}
    for argument in signature.inputs:
        if case.inputs.get(argument.name) is not None:
            bound |= {name for dim in argument.dims for name in names_in(dim)}
    outputs = {name for argument in signature.outputs for dim in argument.dims for name in names_in(dim)}
    return {name: symbols[name] for name in outputs - bound}
