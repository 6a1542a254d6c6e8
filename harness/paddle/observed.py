"""A call that somebody else makes: what its tensors held before it and after it, as a case and as a report."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from opgold.harness.case import Case
from opgold.harness.paddle.call import NOWHERE, Call, said
from opgold.harness.paddle.form import CallForm, form_of
from opgold.harness.paddle.parameters import Binding, parameters_of
from opgold.harness.paddle.tensors import dtype_name
from opgold.kernels.report import Fault, Report
from opgold.reference.schema import Attribute, Scalar, Signature, Value, evaluate


class Unobservable(Exception):
    """Why nothing can be said of a call. The message names the argument, if it is one's fault."""


@dataclass(frozen=True)
class Snapshot:
    """What a tensor held at one time, with the methods of a tensor that `Call` uses. `raw` is as Paddle gives it:
    bfloat16 as uint16."""

    raw: np.ndarray
    dtype: str
    address: int

    @classmethod
    def of(cls, tensor: Any) -> Snapshot:
        return cls(np.array(tensor.numpy(), order="C"), dtype_name(tensor), tensor.data_ptr() if tensor.size else 0)

    @property
    def shape(self) -> list[int]:
        return list(self.raw.shape)

    @property
    def ndim(self) -> int:
        return self.raw.ndim

    @property
    def size(self) -> int:
        return self.raw.size

    def data_ptr(self) -> int:
        return self.address

    def numpy(self) -> np.ndarray:
        return self.raw

    @property
    def array(self) -> np.ndarray:
        return self.raw.view(ml_dtypes.bfloat16) if self.dtype == "bfloat16" else self.raw


@dataclass
class Observed:
    """One call of an op. `before` and `after` are its tensors by name, `scalars` the other arguments; `returned` the
    new tensors, None for what is no tensor; `error` what the op raised, in words."""

    op: str
    before: Mapping[str, Snapshot]
    scalars: Mapping[str, Scalar]
    after: Mapping[str, Snapshot] = field(default_factory=dict)
    returned: Sequence[Snapshot | None] = ()
    error: str | None = None

    def ended(self, tensors: Mapping[str, Any], returned: Any) -> None:
        """Look at the tensors after the call, and at what it returned."""
        self.after = {name: Snapshot.of(tensors[name]) for name in self.before}
        parts = returned if isinstance(returned, list | tuple) else [returned]
        self.returned = [Snapshot.of(part) if is_tensor(part) else None for part in parts]

    def raised(self, error: BaseException) -> None:
        self.error = said(error)

    def case(self, fixed: Mapping[str, Value]) -> Case:
        """The call as a case; `fixed` stands for what the function does not take. What does not fit the op's signature
        is for `Signature.bind` to say."""
        form = form_of(self.op)
        arguments = {argument.name: argument for argument in form.signature.inputs}
        inputs: dict[str, Value] = dict(self.scalars)
        for name, snapshot in self.before.items():
            if name in arguments:
                inputs[name] = _of_rank(snapshot.array, len(arguments[name].dims))
        inputs |= fixed
        for name, extents in form.allocated.items():
            inputs[name] = _allocated(form.signature, name, extents, inputs)
        return Case(self.op, {name: value for name, value in inputs.items() if value is not None})

    def play(self, values: Mapping[str, Value], outside: str | None = None) -> Report:
        """Do to `values`, which are as before the call, what the call did. `outside` says why the inputs are outside
        the op's contract, if they are."""
        if self.error is not None:
            return Report(self.error, 0.0)
        form = form_of(self.op)
        arrays = {name for name in self.before if isinstance(values.get(name), np.ndarray)}
        call = Call(
            form,
            values,
            given={name: self.after[name] for name in arrays},
            addresses={name: self.before[name].address for name in arrays if self.before[name].size},
            shapes={name: self.before[name].shape for name in arrays},
        )
        if outside is not None:
            detail = f"the call is outside the op's contract, and the op took it: {outside}"
            return Report(None, 0.0, faults=[Fault("outside", NOWHERE, detail=detail)])
        return call.report(list(self.returned), 0.0)


class Observer:
    """Tells of calls of one function which argument is which. Raises CallMismatch for a function with other ones."""

    def __init__(self, op: str, function: Callable[..., Any], binding: Binding) -> None:
        self.form: CallForm = form_of(op)
        self._binding = binding
        self._names, self._defaults = _parameters(self.form, function, binding)
        self._attributes = {attribute.name: attribute for attribute in self.form.signature.attributes}

    def named(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by the names of FastDeploy's call. Raises Unobservable."""
        if len(args) > len(self._names):
            raise Unobservable(f"{len(args)} arguments, expected at most {len(self._names)}")
        names = list(self._names.values())
        given = self._defaults | dict(zip(names, args, strict=False))
        for keyword, value in keywords.items():
            if keyword not in self._names:
                raise Unobservable(f"{keyword}: it is not known which argument that is")
            given[self._names[keyword]] = value
        return given

    def begin(self, given: Mapping[str, Any]) -> Observed:
        """The call as it begins. Raises Unobservable."""
        before: dict[str, Snapshot] = {}
        scalars: dict[str, Scalar] = {}
        for name, value in given.items():
            if name in self._attributes:
                scalars[name] = _scalar(self._attributes[name], value)
            elif is_tensor(value):
                before[name] = Snapshot.of(value)
            elif value is not None:
                raise Unobservable(f"{name}: {type(value).__name__}, expected a tensor")
        for name, beyond in self.form.beyond.items():
            if beyond.environment and name in self._binding.absent:
                scalars[name] = _scalar(self._attributes[name], os.environ.get(beyond.environment, beyond.value))
        return Observed(self.form.op, before, scalars)


def is_tensor(value: Any) -> bool:
    """Whether a value is a Paddle tensor that holds something. Imports nothing: without Paddle nothing is one."""
    return hasattr(value, "data_ptr") and hasattr(value, "is_contiguous") and hasattr(value, "numpy")


def drawn(op: str, binding: Binding, refusal: str) -> str:
    """The input that a function does not take and makes itself, if that is what the golden model misses; else an empty
    text."""
    absent = (argument.name for argument in form_of(op).signature.inputs if argument.name in binding.absent)
    return next((name for name in absent if f"{name}:" in refusal), "")


def digest(op: str, values: Iterable[tuple[str, Value]]) -> bytes:
    """What tells calls of different content from each other."""
    seen = hashlib.blake2b(op.encode(), digest_size=16)
    for name, value in sorted(values):
        if value is None:
            continue
        if isinstance(value, np.ndarray):
            seen.update(f"{name} {value.dtype} {value.shape}".encode())
            seen.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        else:
            seen.update(f"{name} {value!r}".encode())
    return seen.digest()


def _parameters(
    form: CallForm, function: Callable[..., Any], binding: Binding
) -> tuple[dict[str, str], dict[str, Any]]:
    """The function's own name of each position, with the call's; and what stands there if it is not given."""
    taken = parameters_of(function)
    if taken is None:
        return {name: name for name in form.order}, {}
    if taken.known and set(taken.names) >= {*binding.positional, *binding.keywords}:
        names = {name: name for name in taken.names if name is not None}
    else:
        own = zip(taken.names, form.order, strict=False)
        names = {name or f"arg{place}": said for place, (name, said) in enumerate(own)}
    try:
        declared = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return names, {}
    defaults = {n: declared[n].default for n in names if n in declared}
    return names, {names[n]: default for n, default in defaults.items() if default is not inspect.Parameter.empty}


def _scalar(attribute: Attribute, value: Any) -> Scalar:
    """An attribute's value, however it is given: a number, a text of the environment, or a tensor of one element."""
    try:
        plain = value.item() if hasattr(value, "item") else value
        number = int(plain) if isinstance(plain, str) else plain
        made: Scalar = attribute.kind(number)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Unobservable(f"{attribute.name}: {value!r}, expected {attribute.kind.__name__}") from error
    if made != number:
        raise Unobservable(f"{attribute.name}: {value!r}, expected {attribute.kind.__name__}")
    return made


def _of_rank(array: np.ndarray, rank: int) -> np.ndarray:
    """The array without last dimensions of 1 that are too many."""
    extra = array.shape[rank:]
    return array.reshape(array.shape[:rank]) if extra and all(extent == 1 for extent in extra) else array


def _allocated(signature: Signature, name: str, extents: Sequence[str], inputs: Mapping[str, Value]) -> np.ndarray:
    """Zeros for an `InOut` argument that the call makes itself."""
    symbols: dict[str, int] = {n: v for n, v in inputs.items() if isinstance(v, int)}
    dtype, family = None, signature.argument(name).family
    for argument in signature.inputs:
        array = inputs.get(argument.name)
        if isinstance(array, np.ndarray):
            symbols |= {d: n for d, n in zip(argument.dims, array.shape, strict=False) if d.isidentifier()}
            dtype = array.dtype if argument.family == family else dtype
    return np.zeros([evaluate(extent, symbols) or 0 for extent in extents], dtype)
