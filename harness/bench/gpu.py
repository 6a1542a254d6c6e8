"""Kernels on a GPU: a graph of many calls, replayed between events; an empty kernel and a copy by the same method."""

from __future__ import annotations

import multiprocessing
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from opgold.harness.backends.base import attributes_of, tensors_of
from opgold.harness.bench.row import Row, workloads
from opgold.harness.runner import arguments, written
from opgold.kernels import build, runtime
from opgold.reference.schema import Signature, Value

BASELINES = Path(build.__file__).parent / "bench"
LAUNCHES = 100
SAMPLES = 50
COPIED_AT_ONCE = 65_536  # bytes
STEADY = 0.02  # by so much an empty kernel may differ before and after an op
ATTEMPTS = 5
LARGE = 2**28  # bytes of arguments: a call takes long enough to be timed a few times


def measure(ops: Sequence[str]) -> list[Row]:
    """A row for each workload of the ops, and first the empty kernel. Raises RuntimeError where there is no GPU.

    Each op is timed in a process of its own: after some ops, every launch of the process takes longer.
    """
    device = runtime.device("cuda")
    if device.unavailable:
        raise RuntimeError(f"cuda: {device.unavailable}")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        return [row for rows in pool.imap(_rows, [None, *ops]) for row in rows]


def _rows(op: str | None) -> list[Row]:
    """The rows of an op; of None, the empty kernel's."""
    device = runtime.device("cuda")
    if op is None:
        seconds = _empty(device)
        return [Row.of("(empty kernel)", "1 block x 32 threads", seconds, empty=statistics.median(seconds) * 1e6)]
    rows = []
    for case, workload in workloads([op], "empty", "copy", "read"):
        values = arguments(case, poison=0)
        seconds, empty = _beside_empty(device, case.signature, values)
        size = sum(array.nbytes for array in written(case.signature, values).values())
        baselines = {"empty": empty, "copy": _copy(device, size)}
        if workload.unit == "read":
            largest = max(value.nbytes for value in case.inputs.values() if isinstance(value, np.ndarray))
            baselines["read"] = _read(device, largest)
        more = {**baselines, "limit": workload.limit, "unit": workload.unit}
        rows.append(Row.of(case.op, workload.batch.name, seconds, **more))
    return rows


def _empty(device: runtime.Device) -> list[float]:
    return _time(device, BASELINES / "empty.cu", "empty", [], [])


def _beside_empty(
    device: runtime.Device, signature: Signature, values: Mapping[str, Value]
) -> tuple[list[float], float]:
    """Seconds of one call, and microseconds of an empty kernel just before and after it.

    Some ops make every later launch of a process take a third longer, an empty kernel's too: a figure is only kept
    between two empty kernels that agree.
    """
    before = statistics.median(_empty(device))
    for _ in range(ATTEMPTS):
        seconds = time_op(device, signature, values)
        after = statistics.median(_empty(device))
        if abs(after - before) <= STEADY * before:
            break
        before = after
    return seconds, (before + after) / 2 * 1e6


def time_op(device: runtime.Device, signature: Signature, values: Mapping[str, Value]) -> list[float]:
    """Seconds of one call, one figure a replay. Arguments lie on the device; written ones change from call to call."""
    return _time(
        device,
        build.source_of(signature.op),
        signature.op,
        tensors_of(signature, values),
        attributes_of(signature, values),
    )


def _copy(device: runtime.Device, size: int) -> float:
    # A remainder is copied by a kernel of its own, at half the speed of all: it would flatter.
    size = max(size // COPIED_AT_ONCE * COPIED_AT_ONCE, min(size, COPIED_AT_ONCE))
    source, target = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    seconds = _time(device, BASELINES / "copy.cu", "copy", [("source", source, "in"), ("target", target, "out")], [])
    return statistics.median(seconds) * 1e6


def _read(device: runtime.Device, size: int) -> float:
    source, sink = np.zeros(size, np.uint8), np.zeros(1, np.int32)
    seconds = _time(device, BASELINES / "read.cu", "read", [("source", source, "in"), ("sink", sink, "out")], [])
    return statistics.median(seconds) * 1e6


def _time(
    device: runtime.Device,
    source: Path,
    op: str,
    tensors: Sequence[tuple[str, np.ndarray | None, str]],
    attributes: Sequence[runtime.Attribute],
) -> list[float]:
    library = build.kernel_library(source, target="cuda", flavour="plain")
    with _uploaded(device, tensors) as placed:
        large = sum(array.nbytes for _, array, _ in tensors if array is not None) > LARGE
        launches, samples = (LAUNCHES // 10, SAMPLES // 5) if large else (LAUNCHES, SAMPLES)
        return device.time(library, op, tensors=placed, attributes=attributes, launches=launches, samples=samples)


@contextmanager
def _uploaded(
    device: runtime.Device, tensors: Sequence[tuple[str, np.ndarray | None, str]]
) -> Iterator[list[runtime.Tensor]]:
    """The tensors in device memory for as long as the context lasts."""
    held: list[runtime.DeviceArray] = []
    placed: list[runtime.Tensor] = []
    try:
        for name, array, direction in tensors:
            if array is not None:
                held.append(device.upload(array))
            placed.append((name, None if array is None else held[-1], direction))
        yield placed
    finally:
        for uploaded in held:
            device.release(uploaded)
