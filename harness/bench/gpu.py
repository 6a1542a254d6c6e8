"""Kernels on a GPU: a graph of many calls, replayed between events; an empty kernel and a copy by the same method."""

from __future__ import annotations

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
COPIED_AT_ONCE = 256  # bytes
LARGE = 2**28  # bytes of arguments: a call takes long enough to be timed a few times


def measure(ops: Sequence[str]) -> list[Row]:
    """A row for each workload of the ops, and first the empty kernel. Raises RuntimeError where there is no GPU."""
    device = runtime.device("cuda")
    if device.unavailable:
        raise RuntimeError(f"cuda: {device.unavailable}")
    seconds = _time(device, BASELINES / "empty.cu", "empty", [], [])
    empty = statistics.median(seconds) * 1e6
    rows = [Row.of("(empty kernel)", "1 block x 32 threads", seconds, empty=empty)]
    for case, workload in workloads(ops, "empty", "copy", "read"):
        values = arguments(case, poison=0)
        seconds = time_op(device, case.signature, values)
        size = sum(array.nbytes for array in written(case.signature, values).values())
        baselines = {"empty": empty, "copy": _copy(device, size)}
        if workload.unit == "read":
            largest = max(value.nbytes for value in case.inputs.values() if isinstance(value, np.ndarray))
            baselines["read"] = _read(device, largest)
        more = {**baselines, "limit": workload.limit, "unit": workload.unit}
        rows.append(Row.of(case.op, workload.batch.name, seconds, **more))
    return rows


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
    size = -(-size // COPIED_AT_ONCE) * COPIED_AT_ONCE  # an odd size is copied at half the speed: it would flatter
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
