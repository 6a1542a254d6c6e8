"""Devices, and calls of kernel entries on them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from opgold.kernels import _runtime, build
from opgold.kernels.report import Report

COPIES = {"late": 0, "early": 1}
BARRIERS = {"strict": 0, "device": 1}
SCHEDULES = {"ascending": 0, "descending": 1, "random": 2}
KINDS = {"cuda-emu": 1, "cuda": 2, "xpu-emu": 1, "xpu": 3}

STEP_LIMIT = 4_000_000  # accesses of one thread in one launch: an honest 8k-token loop needs some ten thousand
TIME_LIMIT = 20.0  # seconds

DeviceArray = _runtime.DeviceArray
Tensor = tuple[str, "np.ndarray | DeviceArray | None", str]
Attribute = tuple[str, bool | int | float]


@cache
def library(path: Path) -> _runtime.Library:
    """A kernel library, loaded once a process."""
    return _runtime.Library(str(path))


class Device:
    """A device library: the emulator, or a GPU's."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._device = _runtime.Device(str(build.device_library(target)), KINDS[target])

    @property
    def unavailable(self) -> str:
        """Why it cannot be used; empty if it can."""
        return self._device.unavailable()

    def call(
        self,
        kernels: Path,
        op: str,
        *,
        tensors: Sequence[Tensor],
        attributes: Sequence[Attribute],
        schedule: str = "ascending",
        seed: int = 0,
        shift: int = 0,
        step_limit: int = STEP_LIMIT,
        time_limit: float = TIME_LIMIT,
        clusters: int = 0,
        cores: int = 0,
        copies: str = "late",
        barriers: str = "strict",
    ) -> Report:
        """Call an op on guarded copies of host arrays. Writable arrays are updated in place.

        `tensors` are (name, array or None, "in" | "out" | "inout"); `shift` moves bases by so many elements off their
        256-byte boundary. On an emulated XPU, `clusters` and `cores` are what launchers find (0: 8 and 64), `copies`
        says when transfers that nobody waits for are made ("late", "early"), `barriers` whether all cores must come to
        the same ("strict") or those that have ended count ("device"). Raises ValueError for arrays that no kernel
        takes (dtype, contiguity).
        """
        text = self._device.call(
            library(kernels),
            op,
            list(tensors),
            list(attributes),
            SCHEDULES[schedule],
            shift,
            seed,
            step_limit,
            time_limit,
            clusters,
            cores,
            COPIES[copies],
            BARRIERS[barriers],
        )
        return Report.of(text)

    def upload(self, array: np.ndarray) -> DeviceArray:
        """A copy in device memory, for `time`. Free it with `release`."""
        return self._device.upload(np.ascontiguousarray(array))

    def release(self, array: DeviceArray) -> None:
        self._device.release(array)

    def time(
        self,
        kernels: Path,
        op: str,
        *,
        tensors: Sequence[Tensor],
        attributes: Sequence[Attribute],
        launches: int = 50,
        samples: int = 30,
    ) -> list[float]:
        """Seconds of one call: events around replays of a graph of `launches` calls, one figure a replay."""
        return self._device.time(library(kernels), op, list(tensors), list(attributes), launches, samples)


@cache
def device(target: str) -> Device:
    """The device of a target, opened once a process."""
    return Device(target)
