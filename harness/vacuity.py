"""Which trivial kernels a case can fail. One that a kernel passes which does nothing, or clears, shows nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from opgold.harness.backends.base import Backend, Variant
from opgold.harness.case import Case
from opgold.harness.oracles import KERNEL
from opgold.harness.runner import Arrays, Golden, Trial, run_backend, run_golden, written
from opgold.kernels.report import Report
from opgold.reference.schema import Signature, Value

VARIANTS = (Variant(poison=0), Variant(poison=1))  # kernels without threads: their order changes nothing

Values = Mapping[str, Value]
Leaves = Callable[[Signature, Values, Arrays], Arrays]


@dataclass(frozen=True)
class Trivial(Backend):
    """A kernel that computes nothing. `leaves` says what stands in written arguments after a call, from the call's
    values and the golden model's arrays; an argument that it leaves out stays as it was."""

    name: str
    leaves: Leaves
    golden: Golden

    def unavailable(self) -> str:
        return ""

    def has(self, op: str) -> bool:
        return True

    def prepare(self, op: str) -> None:
        return None

    def call(self, signature: Signature, values: Values, variant: Variant) -> Report:
        left = self.leaves(signature, values, self.golden.arrays)
        for name, array in written(signature, values).items():
            if name in left:
                array[...] = left[name]
        return Report(error=None, seconds=0.0)


def _nothing(signature: Signature, values: Values, golden: Arrays) -> Arrays:
    return {}


def _stale(signature: Signature, values: Values, golden: Arrays) -> Arrays:
    return {argument.name: golden[argument.name] for argument in signature.outputs}


def _constant(value: int) -> Leaves:
    def leaves(signature: Signature, values: Values, golden: Arrays) -> Arrays:
        return {name: np.asarray(value).astype(array.dtype) for name, array in written(signature, values).items()}

    return leaves


def _inputs(signature: Signature, values: Values, golden: Arrays) -> Arrays:
    """Each written argument gets the first other input of its shape and dtype."""
    copies: Arrays = {}
    for name, array in written(signature, values).items():
        for argument in signature.inputs:
            given = values[argument.name]
            if argument.name == name or not isinstance(given, np.ndarray):
                continue
            if given.shape == array.shape and given.dtype == array.dtype:
                copies[name] = given.copy()
                break
    return copies


def _first_row(signature: Signature, values: Values, golden: Arrays) -> Arrays:
    return {name: array[:1] if array.ndim and len(array) else array for name, array in golden.items()}


KERNELS: dict[str, Leaves] = {
    "nothing written": _nothing,
    "in-place arguments unchanged": _stale,
    "zeros": _constant(0),
    "ones": _constant(1),
    "minus ones": _constant(-1),
    "inputs copied": _inputs,
    "first row everywhere": _first_row,
}
ODD = {"ones", "minus ones"}  # what no kernel leaves by doing too little: to notice these alone is not enough


@dataclass(frozen=True)
class Power:
    """What a case can fail: the trivial kernels that some oracle notices, and those that none does.

    Kernels that would do on the case what another one or the golden model does are left out. `exempt` says why a case
    is judged by other means than its results; else it is empty.
    """

    noticed: tuple[str, ...] = ()
    unnoticed: tuple[str, ...] = ()
    exempt: str = ""

    @property
    def vacuous(self) -> bool:
        return not set(self.noticed) - ODD and not self.exempt

    def __str__(self) -> str:
        if self.exempt:
            return self.exempt
        if self.vacuous:
            return f"vacuous: no oracle notices {', '.join(self.unnoticed)}; give its arguments other values"
        if self.unnoticed:
            return f"no oracle notices {', '.join(self.unnoticed)}; it can fail {', '.join(self.noticed)}"
        return f"it can fail every trivial kernel: {', '.join(self.noticed)}"


def power(case: Case) -> Power:
    """What a case that the golden model agrees with can fail."""
    if case.refused is not None:
        return Power(exempt="judged by the golden model's refusal and, on a kernel, by the emulator")
    golden = run_golden(case)
    if not any(array.size for array in golden.arrays.values()):
        return Power(exempt="there is no element to write: judged by its launch and by the emulator")
    noticed = {name: _noticed(case, golden, name) for name in _telling(case.signature, case.inputs, golden.arrays)}
    return Power(
        tuple(name for name, seen in noticed.items() if seen), tuple(name for name, seen in noticed.items() if not seen)
    )


def _telling(signature: Signature, inputs: Values, golden: Arrays) -> list[str]:
    """The kernels that differ on such a case from each other and, by design, from the golden model."""
    left_out = set()
    in_place = [name for name in golden if signature.argument(name).reads]
    if not in_place or len(in_place) == len(golden):
        left_out.add("in-place arguments unchanged")
    if not _inputs(signature, signature.complete(inputs) | golden, golden):
        left_out.add("inputs copied")
    if all(array.ndim == 0 or len(array) < 2 for array in golden.values()):
        left_out.add("first row everywhere")
    return [name for name in KERNELS if name not in left_out]


def _noticed(case: Case, golden: Golden, name: str) -> bool:
    kernel = Trivial(name, KERNELS[name], golden)
    trial = Trial(case, golden, kernel, [run_backend(case, kernel, variant) for variant in VARIANTS])
    return any(True for oracle in KERNEL.values() for _ in oracle.check(trial))
