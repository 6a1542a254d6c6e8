"""Runs a case: the golden model on two poisons, and a backend on a few variants that the oracles share."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from opgold.harness.backends.base import Backend, Variant
from opgold.harness.case import Case
from opgold.harness.earlier import other_data
from opgold.kernels.report import Report
from opgold.reference.schema import ContractError, Signature, Value

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Golden:
    """What the golden model makes of a case.

    `arrays` are the written arguments after the call, `defined` tells which of their elements the model specifies.
    `refusal` is its message for inputs outside the contract; `crash` any other error it raised, a fault of its own.
    """

    arrays: Arrays
    defined: Arrays
    refusal: str | None = None
    crash: str | None = None


@dataclass(frozen=True)
class Run:
    """One call of a backend: every array after it, and what the device reported."""

    variant: Variant
    arrays: Arrays
    report: Report


def poison_byte(argument: str, poison: int) -> int:
    """The byte that fills an output before a call. Poison 1 is the complement of poison 0, and arguments differ."""
    byte = 0x21 + zlib.crc32(argument.encode()) % 0x5E
    return byte ^ 0xFF if poison else byte


def poisoned(argument: str, shape: tuple[int, ...], dtype: np.dtype, poison: int) -> np.ndarray:
    """An output as it is before a call."""
    raw = np.full(int(np.prod(shape)) * dtype.itemsize, poison_byte(argument, poison), np.uint8)
    return raw.view(dtype).reshape(shape)


def is_poison(array: np.ndarray, argument: str, poison: int) -> np.ndarray:
    """Which elements hold nothing but poison; bool, the array's shape."""
    poisoned: np.ndarray = (raw_bytes(array) == poison_byte(argument, poison)).all(axis=1)
    return poisoned.reshape(array.shape)


def raw_bytes(array: np.ndarray) -> np.ndarray:
    """uint8 [elements, itemsize]."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, array.itemsize)


def same_bits(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Which elements have the same bits; bool, the arrays' shape."""
    same: np.ndarray = (raw_bytes(left) == raw_bytes(right)).all(axis=1)
    return same.reshape(left.shape)


def arguments(case: Case, poison: int) -> dict[str, Value]:
    """A fresh copy of every argument and attribute of a call, outputs poisoned. Raises ContractError."""
    signature = case.signature
    symbols = signature.bind(case.inputs, case.sizes)
    values = {
        name: np.array(value, order="C") if isinstance(value, np.ndarray) else value
        for name, value in signature.complete(case.inputs).items()
    }
    for name, shape in signature.shapes(symbols).items():
        dtype = signature.dtype(signature.argument(name), case.inputs)
        values[name] = poisoned(name, shape, dtype, poison)
    return values


def written(signature: Signature, values: Mapping[str, Value]) -> Arrays:
    """The arrays among `values` that the op may write."""
    return {a.name: v for a in signature.written if isinstance(v := values[a.name], np.ndarray)}


def run_golden(case: Case) -> Golden:
    """Run the model with two poisons: what differs is what it leaves unspecified."""
    signature = case.signature
    results = []
    for poison in (0, 1):
        try:
            results.append(call_golden(signature, arguments(case, poison)))
        except ContractError as refusal:
            return Golden({}, {}, refusal=str(refusal))
        except Exception as error:
            return Golden({}, {}, crash=f"{type(error).__name__}: {error}")
    first, second = results
    return Golden(first, {name: same_bits(first[name], second[name]) for name in first})


def call_golden(signature: Signature, values: dict[str, Value]) -> Arrays:
    """The written arguments after the model ran on `values`, in place. Raises ContractError, and whatever else the
    model raises."""
    for argument in signature.inputs:
        value = values[argument.name]
        if isinstance(value, np.ndarray) and not argument.writes:
            value.flags.writeable = False
    outputs = {argument.name: values.pop(argument.name) for argument in signature.outputs}
    signature.call(values, outputs)  # type: ignore[arg-type]
    return written(signature, values | outputs)


@dataclass(frozen=True)
class Trial:
    """A case on a backend, with what the oracles look at. `earlier` is the call with other data that came before."""

    case: Case
    golden: Golden
    backend: Backend
    runs: Sequence[Run]
    earlier: Trial | None = None

    @property
    def signature(self) -> Signature:
        return self.case.signature

    @cached_property
    def specified(self) -> Arrays:
        """Which elements of written arguments the backend is held to."""
        return self.backend.specified(self.case, self.golden)

    @property
    def hostile(self) -> bool:
        return self.case.refused is not None

    @property
    def executed(self) -> bool:
        """Whether the case put something to the test: a kernel or, where shapes are wrong, the model's refusal."""
        return bool(self.runs) or (self.hostile and self.golden.refusal is not None)

    @cached_property
    def causes(self) -> list[tuple[Run, str, str, np.ndarray]]:
        """Runs that differ from the first on elements the model specifies: (run, cause, argument, where).

        The cause is "poison", "alignment", "grid", "copies" or "order", found by running the first variant with only
        that one changed.
        """
        found = []
        for run in self.runs[1:]:
            for name, where in self._differences(self.runs[0], run):
                found.append((run, self._cause(run, name), name, where))
        return found

    def _differences(self, first: Run, other: Run) -> list[tuple[str, np.ndarray]]:
        differences = []
        for name, defined in self.specified.items():
            where = defined & ~same_bits(first.arrays[name], other.arrays[name])
            # an element that no run wrote is a missing write, whatever poison it shows
            where &= ~(self.is_unwritten(first, name) & self.is_unwritten(other, name))
            if where.any():
                differences.append((name, where))
        return differences

    def is_unwritten(self, run: Run, name: str) -> np.ndarray:
        """Which elements of an output still hold the run's poison."""
        array = run.arrays[name]
        if self.signature.argument(name).reads:
            return np.zeros(array.shape, bool)
        return is_poison(array, name, run.variant.poison)

    def _cause(self, run: Run, name: str) -> str:
        if self.backend.allocates:
            return "order"  # neither poison nor alignment reaches what a call makes itself
        first, variant = self.runs[0].variant, run.variant
        candidates = {
            "poison": replace(first, poison=variant.poison),
            "alignment": replace(first, shift=variant.shift),
            "grid": replace(first, clusters=variant.clusters, cores=variant.cores),
            "copies": replace(first, copies=variant.copies),
        }
        for cause, single in candidates.items():
            if single == first:
                continue
            alone = run_backend(self.case, self.backend, single)
            if any(argument == name for argument, _ in self._differences(self.runs[0], alone)):
                return cause
        return "order"


def variants(case: Case, backend: Backend) -> tuple[Variant, ...]:
    """The runs of a case. Each varies several things at once; a difference is traced to its cause afterwards."""
    if backend.variants:
        return backend.variants
    seed = case_seed(case)
    if backend.grids:
        return (
            Variant("ascending", 0, 0, 0, 8, 64, "late"),
            Variant("descending", 0, 1, 0, 1, 16, "early"),
            Variant("random", 1 + seed % 7, 0, seed, 12, 64, "late"),
            Variant("random", 0, 1, seed, 2, 1, "late"),
        )
    return (
        Variant("ascending", 0, 0),
        Variant("descending", 0, 1),
        Variant("random", 1 + seed % 7, 0, seed),
    )


def case_seed(case: Case) -> int:
    """A number that hangs on the content of a case alone."""
    seed = zlib.crc32(case.op.encode())
    for name, value in sorted(case.inputs.items()):
        content = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        seed = zlib.crc32(content, zlib.crc32(name.encode(), seed))
    return seed


def run_backend(case: Case, backend: Backend, variant: Variant) -> Run:
    """Call the op on a fresh copy of the case."""
    values = arguments(case, variant.poison)
    report = backend.call(case.signature, values, variant)
    return Run(variant, {name: v for name, v in values.items() if isinstance(v, np.ndarray)}, report)


def try_case(case: Case, backend: Backend) -> Trial:
    """Golden model and backend on one case. A case whose arguments cannot even be made has no runs.

    A kept case's own calls come after one with other data at the same addresses: a kernel that hands out what it has
    computed before, or goes on with what it was given first, is then wrong in the case, however often it is repeated.
    A backend that makes outputs itself has no such addresses.
    """
    golden = run_golden(case)
    taken = backend.takes(case)
    theirs = golden if taken is case or taken is None else run_golden(taken)
    if taken is None or not callable_with(taken, theirs):
        return Trial(case, golden, backend, [])
    earlier = None
    if taken.path is not None and taken.refused is None and not backend.allocates:
        earlier = try_other_data(taken, backend, variants(taken, backend)[0])
    return Trial(taken, theirs, backend, run_variants(taken, backend), earlier)


def callable_with(case: Case, golden: Golden) -> bool:
    """Whether a kernel is to be called with a case: the golden model computes, or is meant to refuse."""
    return (golden.refusal is None and golden.crash is None) or case.refused is not None


def run_variants(case: Case, backend: Backend) -> list[Run]:
    """The runs of a case; none if its shapes themselves are wrong."""
    runs: list[Run] = []
    for variant in variants(case, backend):
        try:
            runs.append(run_backend(case, backend, variant))
        except ContractError:
            break
        if any(fault.kind in ("hang", "fault") for fault in runs[-1].report.faults):
            break  # the next variants would only say so again, slowly
    return runs


def try_other_data(case: Case, backend: Backend, variant: Variant) -> Trial:
    """One run on other data of a lawful case's shapes; where the golden model refuses them they are hostile."""
    for other in other_data(case):
        golden = run_golden(other)
        if golden.refusal is None and golden.crash is None:
            break
    else:
        other = replace(other, refused="")
    return Trial(other, golden, backend, [run_backend(other, backend, variant)])
