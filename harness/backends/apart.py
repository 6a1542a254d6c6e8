"""The ops of an importable module, called in a process of their own."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping

import numpy as np

from opgold.harness.backends.base import Variant
from opgold.harness.backends.module import Remembered
from opgold.harness.backends.process import DeviceProcess, ProcessLost
from opgold.harness.paddle.parameters import Binding
from opgold.kernels.report import Fault, Place, Report
from opgold.reference.schema import Signature, Value

TIME_LIMIT = 600.0  # seconds of one call: a module may compile its kernels then


class Apart(Remembered):
    """`module:NAME[@FILE]`. A process that is lost in a call is a fault of that call, and is replaced.

    `time_limit` is the wall time of one call in seconds. Raises UnknownBackend.
    """

    def __init__(self, name: str, *, time_limit: float = TIME_LIMIT) -> None:
        self._found: dict[str, Binding | str] = {}
        super().__init__(name.partition(":")[2], self._found)
        self.name = name
        self._time_limit = time_limit
        self._process: DeviceProcess | None = None
        self._reason: str | None = None
        self._lock = threading.Lock()

    def unavailable(self) -> str:
        """Asked once: the module's ops are known from then on."""
        with self._lock:
            if self._reason is None:
                self._reason = self._start()
            return self._reason

    def has(self, op: str) -> bool:
        return not self.unavailable() and super().has(op)

    def prepare(self, op: str) -> None:
        self.unavailable()
        super().prepare(op)

    def call(self, signature: Signature, values: Mapping[str, Value], variant: Variant) -> Report:
        with self._lock:
            alive = self._process is not None and self._process.alive
            if not alive and (reason := self._start()):
                raise RuntimeError(f"{self.name}: {reason}")
            assert self._process is not None
            report: Report
            try:
                report, arrays = self._process.ask({"op": signature.op, "values": dict(values)}, self._time_limit)
            except ProcessLost as lost:
                fault = Fault(lost.kind, Place(None, None), detail=f"in a call of {signature.op}: {lost}")
                return Report("the call did not end", 0.0, faults=[fault], device_lost=True)
        for name, array in arrays.items():
            kept = values[name]
            assert isinstance(kept, np.ndarray)
            kept[...] = array
        return report

    def close(self) -> None:
        """End the process; the next call starts another."""
        with self._lock:
            if self._process is not None:
                self._process.close()
                self._process = None

    def _start(self) -> str:
        """A fresh process with the module in it; why there is none, if there is none."""
        worker = (sys.executable, "-m", "opgold.harness.backends.module_worker", json.dumps(sys.path))
        try:
            self._process = DeviceProcess(self.name, worker)
            if self._process.unavailable:
                return self._process.unavailable
            self._found.update(self._process.ask({}, self._time_limit))
        except ProcessLost as lost:
            return f"{self._module_name} cannot be imported: {lost}"
        return ""
