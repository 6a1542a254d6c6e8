"""One call of a function on Paddle tensors: what it wrote, what it returned, and what it did to its tensors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opgold.harness.paddle.form import COLUMNS, CallForm
from opgold.harness.paddle.parameters import Binding
from opgold.harness.paddle.tensors import dtype_name, to_array, to_tensor
from opgold.kernels.report import Fault, Place, Report
from opgold.reference.schema import Value

NOWHERE = Place(None, None)


@dataclass
class Call:
    """The tensors of a call, and what is to be said of it. `values` holds every argument and attribute; what the call
    leaves in its tensors, and what it returns, goes there. `addresses` and `shapes` are those of `given` before it."""

    form: CallForm
    values: Mapping[str, Value]
    given: dict[str, Any] = field(default_factory=dict)
    addresses: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, list[int]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def make(self, function: Callable[..., Any], binding: Binding) -> Report:
        """Call the function."""
        positional = [self._argument(name) for name in binding.positional]
        keywords = {name: self._argument(name) for name in binding.keywords}
        self._soil()
        with self._environment(binding):
            begun = time.perf_counter()
            try:
                returned = function(*positional, **keywords)
            except Exception as error:
                return Report(said(error), time.perf_counter() - begun)
            seconds = time.perf_counter() - begun
        return self.report(returned, seconds)

    def report(self, returned: Any, seconds: float) -> Report:
        """What is to be said of the call, which is over, and returned `returned`."""
        kept = [self._take_back(name, tensor) for name, tensor in self.given.items()]
        if all(kept):
            self._take(returned)
        # what was not taken over must not be judged by its values, too
        refusal = "its tensors are not those of the call" if self.faults else None
        after = {name: self.given[name].data_ptr() for name in self.addresses}
        return Report(refusal, seconds, given=self.addresses, addresses=after, faults=self.faults)

    def _argument(self, name: str) -> Any:
        value = self.values[name]
        if isinstance(value, np.ndarray):
            column = name in COLUMNS and value.ndim == 1
            self.given[name] = tensor = to_tensor(value, host=name in self.form.host, column=column)
            self.shapes[name] = list(tensor.shape)
            if value.size:
                self.addresses[name] = tensor.data_ptr()
            return tensor
        if name in self.form.tensors:
            return to_tensor(np.array([value], self.form.tensors[name]))
        return value

    def _soil(self) -> None:
        """Leave poison in memory that the call's own tensors are likely to get."""
        soil = [to_tensor(value) for name in self.form.returns if isinstance(value := self.values[name], np.ndarray)]
        del soil

    @contextmanager
    def _environment(self, binding: Binding) -> Iterator[None]:
        """Set the variables that stand for arguments which the function does not take."""
        wanted = {
            beyond.environment: self.values[name]
            for name, beyond in self.form.beyond.items()
            if beyond.environment and name in binding.absent
        }
        before = {name: os.environ.get(name) for name in wanted}
        try:
            for name, value in wanted.items():
                _set(name, None if value is False else str(int(value or 0)))
            yield
        finally:
            for name, text in before.items():
                _set(name, text)

    def _take_back(self, name: str, tensor: Any) -> bool:
        """Take over what stands in a tensor now; note it if the shape is another, for then there is no telling."""
        array = self.values[name]
        assert isinstance(array, np.ndarray)
        before, after = self.shapes[name], list(tensor.shape)
        if after != before:
            self._note("reshaped", name, f"has the shape {after} after the call, {before} before")
            return False
        array[...] = to_array(tensor).reshape(array.shape)
        return True

    def _take(self, returned: Any) -> None:
        """Take over the new tensors among those that were returned."""
        names = self.form.returns
        tensors = self._new(returned)
        if tensors is None:
            return
        for name, tensor in zip(names, tensors, strict=True):
            array = self.values[name]
            assert isinstance(array, np.ndarray)
            if dtype_name(tensor) != array.dtype.name:
                self._note("returned", name, f"is returned as {dtype_name(tensor)}, expected {array.dtype.name}")
            elif not _alike(tensor.shape, array.shape):
                self._note(
                    "returned", name, f"is returned with the shape {list(tensor.shape)}, expected {list(array.shape)}"
                )
            else:
                array[...] = to_array(tensor).reshape(array.shape)

    def _new(self, returned: Any) -> Sequence[Any] | None:
        """The new tensors in order. Registered ops return those that they changed in place as well."""
        names = self.form.returns
        tensors = [] if returned is None else list(returned) if isinstance(returned, list | tuple) else [returned]
        tensors = [tensor for tensor in tensors if tensor is not None]
        if not names or len(tensors) == len(names):
            return tensors[: len(names)]
        there = {tensor.data_ptr() for tensor in self.given.values() if tensor.size}
        new = [tensor for tensor in tensors if not tensor.size or tensor.data_ptr() not in there]
        if len(new) > len(names):  # an empty tensor has no address: it is known by its shape
            kept: list[Any] = []
            wanted = [value.shape for name in names if isinstance(value := self.values[name], np.ndarray)]
            for tensor in new:
                if len(kept) < len(wanted) and _alike(tensor.shape, wanted[len(kept)]):
                    kept.append(tensor)
            new = kept
        if len(new) != len(names):
            what = f"returns {len(tensors)} tensors, {len(new)} of them new; the call returns {len(names)}"
            self._note("returned", None, f"{self.form.name} {what} ({', '.join(names)})")
            return None
        return new

    def _note(self, kind: str, argument: str | None, detail: str) -> None:
        self.faults.append(Fault(kind, NOWHERE, argument=argument, detail=detail))


def said(error: BaseException) -> str:
    """What an exception says, without Paddle's trace through its own code."""
    lines = [line.strip() for line in str(error).splitlines()]
    if "Error Message Summary:" in lines:
        lines = lines[lines.index("Error Message Summary:") + 2 :]
    text = next((line for line in lines if line.strip("-")), "")
    return f"{type(error).__name__}: {text}"


def _alike(shape: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether two shapes are one, but for a last dimension of 1."""
    left, right = list(shape), list(expected)
    return right in (left, [*left, 1]) or left == [*right, 1]


def _set(name: str, text: str | None) -> None:
    if text is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = text
