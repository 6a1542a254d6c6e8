"""Kernels of this repository, built here and called in a process of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from opgold.harness.backends.base import Backend, Variant, attributes_of, tensors_of
from opgold.harness.backends.process import DeviceProcess, ProcessLost
from opgold.kernels import build, runtime
from opgold.kernels.report import Fault, Place, Report
from opgold.kernels.sources import vendor_of
from opgold.reference.schema import Signature, Value

GRACE = 10.0  # seconds past the time limit: copies, and the device library's own report of a hang


class Isolated(Backend):
    """Like Native, but this process never opens the device. A lost process is a fault of its call, and is replaced.

    `time_limit` is the wall time of one call in seconds; `open_device` starts a process for a target.
    """

    def __init__(
        self,
        target: str,
        flavour: str = "plain",
        *,
        time_limit: float = runtime.TIME_LIMIT,
        grace: float = GRACE,
        open_device: Callable[[str], DeviceProcess] = DeviceProcess,
    ) -> None:
        self.name = self.target = target
        self.flavour = flavour
        self.emulated = target.endswith("-emu")
        self.vendors = (vendor_of(target),)
        self.time_limit = time_limit
        self.grace = grace
        self._open_device = open_device
        self._process: DeviceProcess | None = None
        self._lock = threading.Lock()

    def unavailable(self) -> str:
        try:
            with self._lock:
                return self._device().unavailable
        except (build.MissingCompiler, build.BuildError, RuntimeError) as reason:
            return str(reason)

    def has(self, op: str) -> bool:
        return build.source_of(op, self.target).exists()

    def prepare(self, op: str) -> None:
        build.kernel_library(build.source_of(op, self.target), target=self.target, flavour=self.flavour)

    def call(self, signature: Signature, values: Mapping[str, Value], variant: Variant) -> Report:
        return self.call_source(
            build.source_of(signature.op, self.target),
            signature.op,
            tensors_of(signature, values),
            attributes_of(signature, values),
            variant,
        )

    def call_source(
        self,
        source: Path,
        op: str,
        tensors: Sequence[tuple[str, np.ndarray | None, str]],
        attributes: Sequence[tuple[str, bool | int | float]],
        variant: Variant,
    ) -> Report:
        """Call the op that `source` exports. Written arrays are updated in place.

        Raises BuildError, and RuntimeError if the device is not usable, even by a fresh process.
        """
        library = build.kernel_library(source, target=self.target, flavour=self.flavour)
        request = {
            "kernels": library,
            "op": op,
            "tensors": list(tensors),
            "attributes": list(attributes),
            "schedule": variant.schedule,
            "shift": variant.shift,
            "seed": variant.seed,
            "time_limit": self.time_limit,
        }
        with self._lock:
            device = self._device()
            if device.unavailable:
                self._end()  # asked again by the next call: a device may recover
                raise RuntimeError(f"{self.name}: {device.unavailable}")
            report: Report
            try:
                report, written = device.ask(request, self.time_limit + self.grace)
            except ProcessLost as lost:
                fault = Fault(lost.kind, Place(None, None), detail=str(lost))
                return Report(None, 0.0, faults=[fault], device_lost=True)
            if report.device_lost:
                self._end()
        for name, array, direction in tensors:
            if array is not None and direction != "in":
                array[...] = written[name]
        return report

    def close(self) -> None:
        """End the process; the next call starts another."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _device(self) -> DeviceProcess:
        """The running process, or a fresh one."""
        if self._process is not None and not self._process.alive:
            self._end()
        if self._process is None:
            build.device_library(self.target)  # built here, where its errors belong, and outside the start's limit
            self._process = self._open_device(self.target)
        return self._process
