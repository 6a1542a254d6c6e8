"""The ops of an importable module, called with Paddle tensors as FastDeploy calls them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from opgold.harness.backends.base import Backend, UnknownBackend, Variant
from opgold.harness.case import Case
from opgold.harness.paddle import contract, rules, tensors
from opgold.harness.paddle.call import Call
from opgold.harness.paddle.form import form_of, sharing
from opgold.harness.paddle.parameters import Binding, CallMismatch, bind
from opgold.harness.runner import Golden, raw_bytes, run_golden, same_bits
from opgold.kernels.report import Report
from opgold.reference import schema
from opgold.reference.schema import ContractError, Signature, Value, evaluate


class Module(Backend):
    """`module:NAME`, or `module:NAME@FILE` with the file that says where it differs from opgold's contract.

    Calls are made in this process, and only on lawful inputs: nothing guards what the module's kernels reach. `Apart`
    makes them in another one.
    """

    allocates = True
    hostile = False
    sequences = False

    def __init__(self, name: str, loaded: ModuleType | None = None) -> None:
        """`loaded` is the module, where it need not be imported. Raises UnknownBackend."""
        self.name = name
        self._module_name, _, file = name.partition(":")[2].partition("@")
        if not self._module_name:
            raise UnknownBackend(f"backend {name!r}: a module's name follows the colon")
        self._calls: dict[str, tuple[Callable[..., Any], Binding]] = {}
        self._contract = contract.of(self._module_name, Path(file) if file else None)
        if loaded is not None:
            self._loaded = loaded

    @cached_property
    def _loaded(self) -> ModuleType | str:
        """The module, or why there is none."""
        if reason := tensors.unavailable():
            return reason
        try:
            return importlib.import_module(self._module_name)
        except Exception as error:  # a module's code may fail in any way
            return f"{self._module_name} cannot be imported: {type(error).__name__}: {error}"

    def unavailable(self) -> str:
        return self._loaded if isinstance(self._loaded, str) else ""

    def has(self, op: str) -> bool:
        return self._function(op) is not None

    def prepare(self, op: str) -> None:
        self.bound(op)

    def takes(self, case: Case) -> Case | None:
        """The case as a call of the module can put it: without what it does not take, outputs of their natural size."""
        form = form_of(case.op)
        if (case.refused is not None and not self.hostile) or self.left_out(case.op):
            return None
        fixed, given = self.fixed(case.op), form.signature.complete(case.inputs)
        changed = {n: v for n, v in fixed.items() if (given[n] is not None if v is None else given[n] != v)}
        inputs = {**case.inputs, **changed}
        try:
            symbols = form.signature.bind(inputs)
        except ContractError:
            return case
        for name, extents in form.allocated.items():
            shape = tuple(evaluate(extent, symbols) or 0 for extent in extents)
            array = inputs[name]
            assert isinstance(array, np.ndarray)
            if array.shape != shape:
                inputs[name] = changed[name] = np.zeros(shape, array.dtype)
        if not case.sizes and not changed:
            return case
        if case.refused is not None:
            return None  # of another case there is no telling whether the model must refuse it
        return replace(case, inputs=inputs, sizes={}, expect={}, relations=False)

    def left_out(self, op: str) -> bool:
        """Whether the contract says that the module's op of that name is another one."""
        return any(difference.left_out for difference in self._contract.of(op))

    def fixed(self, op: str) -> dict[str, Value]:
        """What stands for the arguments that the module does not take. Raises CallMismatch."""
        form, (_, binding) = form_of(op), self.bound(op)
        values = {name: v for difference in self._contract.of(op) for name, v in difference.values.items()}
        defaults = {attribute.name: attribute.default for attribute in form.signature.attributes}
        fixed: dict[str, Value] = {}
        for name in binding.absent:
            beyond = form.beyond.get(name)
            if beyond is not None and beyond.environment:
                continue
            if any(argument.name == name and not argument.reads for argument in form.signature.arguments):
                continue
            fixed[name] = values.get(name, beyond.value if beyond is not None else defaults.get(name))
        return fixed

    def specified(self, case: Case, golden: Golden) -> dict[str, np.ndarray]:
        """What the model specifies, without what the module's call does not specify, or does not show."""
        form, defined = form_of(case.op), dict(golden.defined)
        if not defined:
            return defined
        _, binding = self.bound(case.op)
        for argument in form.signature.outputs:
            if argument.name in form.beyond and argument.name in binding.absent:
                defined[argument.name] = np.zeros_like(defined[argument.name])
        for name in form.allocated:  # what the model leaves there is what stood there before, which nothing says
            given = case.inputs[name]
            assert isinstance(given, np.ndarray)
            twin = run_golden(
                replace(case, inputs={**case.inputs, name: (~raw_bytes(given)).view(given.dtype).reshape(given.shape)})
            )
            defined[name] = defined[name] & same_bits(twin.arrays[name], golden.arrays[name])
        known: dict[str, Any] = {**case.inputs, **golden.arrays}
        for difference in self._contract.of(case.op):
            for name, counting in difference.up_to.items():
                defined[name] = defined[name].copy()
                defined[name][int(np.ravel(known[counting])[-1]) :] = False
            if difference.rule is not None:
                for name, where in rules.RULES[difference.rule](case.inputs, golden.arrays).items():
                    defined[name] = defined[name] & ~where
        return defined

    def call(self, signature: Signature, values: Mapping[str, Value], variant: Variant) -> Report:
        function, binding = self.bound(signature.op)
        return Call(form_of(signature.op), values).make(function, binding)

    def _function(self, op: str) -> Callable[..., Any] | None:
        """The module's function for an op. Of several versions that FastDeploy has of one name, one alone has it."""
        if isinstance(self._loaded, str):
            return None
        form = form_of(op)
        own = getattr(self._loaded, op, None)
        if op != form.name and callable(own):
            return own  # type: ignore[no-any-return]
        function = getattr(self._loaded, form.name, None)
        return function if callable(function) and self._version(form.name, function) == op else None

    def _version(self, name: str, function: Callable[..., Any]) -> str:
        """Which op a function is: the one that the contract says, else the first whose call it takes."""
        versions = sharing(name)
        said = [op for op in versions if any(difference.version for difference in self._contract.of(op))]
        for op in said or versions:
            try:
                bind(form_of(op), function)
            except CallMismatch:
                continue
            return op
        return (said or versions)[0]

    def attributes(self) -> dict[str, str]:
        """The module's functions that are ops, by their names in it, and the op of each."""
        found = {}
        for op in schema.ops():
            function = self._function(op)
            for name in (op, form_of(op).name) if function is not None else ():
                if getattr(self._loaded, name, None) is function:
                    found[name] = op
        return found

    def bound(self, op: str) -> tuple[Callable[..., Any], Binding]:
        """The function and how it is called. Raises CallMismatch."""
        if op not in self._calls:
            function = self._function(op)
            assert function is not None, op
            self._calls[op] = function, bind(form_of(op), function)
        return self._calls[op]


class Remembered(Module):
    """A module that is not in this process: how each op is called is known, or why it cannot be. `bindings` may grow.

    `name` is NAME or NAME@FILE.
    """

    def __init__(self, name: str, bindings: Mapping[str, Binding | str]) -> None:
        super().__init__(f"module:{name}", ModuleType(name.partition("@")[0]))
        self._bindings = bindings

    def has(self, op: str) -> bool:
        return op in self._bindings

    def bound(self, op: str) -> tuple[Callable[..., Any], Binding]:
        binding = self._bindings[op]
        if isinstance(binding, str):
            raise CallMismatch(binding)
        return _elsewhere, binding


def _elsewhere(*_: Any, **__: Any) -> Any:
    raise AssertionError("a module that is not in this process was called")
