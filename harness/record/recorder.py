"""Stands in the place of a module's ops: hands each call on as it is, and leaves what it saw in a spool."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from types import ModuleType
from typing import Any

import numpy as np

from opgold.harness.backends.module import Module
from opgold.harness.paddle.observed import Observed, Observer, Unobservable, digest
from opgold.harness.paddle.parameters import CallMismatch
from opgold.harness.record import files
from opgold.harness.record.spool import Spool

MOST_KNOWN = 1 << 18  # contents that are told apart before a call is left in the spool
Begun = tuple[Observed, Mapping[str, Any], bytes, int]  # the call, its tensors, its content's key, its number


class Recorder:
    """Records calls of `loaded`, the module that `name` (NAME or NAME@FILE) names; of these ops, or of all.

    A call is never changed: what goes wrong here is noted in the spool.
    """

    def __init__(self, name: str, loaded: ModuleType, spool: Spool, ops: Sequence[str] = ()) -> None:
        self._module = Module(f"module:{name}", loaded)
        self._loaded = loaded
        self._spool = spool
        self._ops = ops
        self._on = False
        self._known: set[bytes] = set()
        self._replaced: list[tuple[ModuleType, str, Any]] = []

    def start(self) -> None:
        """Record from now on. Names in imported modules that stand for the ops stand for recorded ones, too."""
        self._on = True
        stands: dict[int, Callable[..., Any]] = {}
        functions = {name: op for name, op in self._module.attributes().items() if not self._ops or op in self._ops}
        self._spool.has(functions)
        for name, op in functions.items():
            function = getattr(self._loaded, name)
            if not inspect.isroutine(function):
                self._spool.fault(f"{name} is no function but a {type(function).__name__}: its calls are not recorded")
                continue
            if id(function) not in stands:
                stands[id(function)] = self._recorded(op, function)
            self._replace(self._loaded, name, function, stands[id(function)])
        for module in list(sys.modules.values()):
            for name, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
                if id(value) in stands:
                    self._replace(module, name, value, stands[id(value)])

    def stop(self) -> None:
        """Put everything back. A function that was taken meanwhile goes on unrecorded."""
        self._on = False
        for module, name, function in reversed(self._replaced):
            setattr(module, name, function)
        self._replaced.clear()

    def _replace(self, module: ModuleType, name: str, function: Any, stand: Any) -> None:
        self._replaced.append((module, name, function))
        setattr(module, name, stand)

    def _recorded(self, op: str, function: Callable[..., Any]) -> Callable[..., Any]:
        observer: Observer | str
        try:
            binding = self._module.bound(op)[1]
            observer = Observer(op, function, binding)
            how = {"binding": asdict(binding)}
        except CallMismatch as mismatch:
            observer, how = str(mismatch), {}

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            if not self._on:
                return function(*args, **keywords)
            begun = self._begin(op, observer, args, keywords)
            try:
                returned = function(*args, **keywords)
            except BaseException as error:
                self._end(begun, how, error=error)
                raise
            self._end(begun, how, returned)
            return returned

        return call

    def _begin(
        self, op: str, observer: Observer | str, args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> Begun | None:
        try:
            number = self._spool.seen(op)
            if isinstance(observer, str):
                raise Unobservable(observer)
            if reason := _blind():
                self._spool.drop(op, reason)
                return None
            given = observer.named(args, keywords)
            observed = observer.begin(given)
            key = digest(op, _content(observed))
            if key in self._known:
                self._spool.drop(op, "of the same content")
                return None
            return observed, given, key, number
        except Unobservable as why:
            self._spool.unfit(op, str(why))
        except Exception as error:
            self._spool.fault(f"{op}: {type(error).__name__}: {error}")
        return None

    def _end(
        self, begun: Begun | None, how: Mapping[str, Any], returned: Any = None, error: BaseException | None = None
    ) -> None:
        if begun is None:
            return
        observed, tensors, key, number = begun
        try:
            if error is None:
                observed.ended(tensors, returned)
            else:
                observed.raised(error)
            if self._spool.put(observed.op, files.arrays(observed), {**files.meta(observed), **how, "number": number}):
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()  # what comes again is then found alike by the sorter
                self._known.add(key)
        except Exception as trouble:
            self._spool.fault(f"{observed.op}: {type(trouble).__name__}: {trouble}")


def _content(observed: Observed) -> list[tuple[str, Any]]:
    arrays: list[tuple[str, np.ndarray]] = [(name, snapshot.raw) for name, snapshot in observed.before.items()]
    return [*arrays, *observed.scalars.items()]


def _blind() -> str:
    """Why tensors cannot be looked at now; empty if they can."""
    paddle = sys.modules.get("paddle")
    if paddle is None:
        return ""
    if not paddle.in_dynamic_mode():
        return "while a program was built, whose tensors hold nothing"
    capturing = getattr(paddle.base.core, "is_cuda_graph_capturing", None)
    return "while a graph was captured" if capturing is not None and capturing() else ""
