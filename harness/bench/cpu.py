"""The emulator, by two kernels that show what its parts cost, and the golden models."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from opgold.harness.bench import rounds, steps
from opgold.harness.bench.row import Row, workloads
from opgold.harness.case import Case
from opgold.harness.runner import arguments
from opgold.kernels import build, runtime
from opgold.reference import schema

KERNELS = Path(build.__file__).parent / "bench"
WARM_UP = 5
SAMPLES = 50

EMULATED = (
    ("barriers", "1,024 threads, 3 barriers", "plain", 1024, 150),
    ("barriers", "1,024 threads, 3 barriers", "checked", 1024, 300),
    ("stream", "256 blocks x 128 threads", "checked", 256 * 128, 2_500),
)


def measure(ops: Sequence[str]) -> list[Row]:
    """Golden models of the ops and, if these are all there are, the emulator, whole rounds and whole steps."""
    whole = [*emulated(), *rounds.measure(), *steps.measure()] if set(ops) >= set(schema.ops()) else []
    return [*whole, *models(ops)]


def emulated() -> Iterator[Row]:
    """Launches as the emulator itself times them."""
    device = runtime.device("cuda-emu")
    for op, workload, flavour, size, limit in EMULATED:
        library = build.kernel_library(KERNELS / f"{op}.cu", target="cuda-emu", flavour=flavour)
        source, target = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
        tensors = [("source", source, "in"), ("target", target, "out")]
        seconds = [device.call(library, op, tensors=tensors, attributes=[]).seconds for _ in range(WARM_UP + SAMPLES)]
        yield Row.of(f"(emulator, {flavour})", f"{op}: {workload}", seconds[WARM_UP:], limit=limit)


def models(ops: Sequence[str]) -> Iterator[Row]:
    """Calls of golden models."""
    for case, workload in workloads(ops, "us"):
        seconds = [_call_model(case) for _ in range(WARM_UP + SAMPLES)]
        yield Row.of(f"{case.op} (golden)", workload.batch.name, seconds[WARM_UP:], limit=workload.limit)


def _call_model(case: Case) -> float:
    """Seconds of one call on fresh arguments."""
    signature = case.signature
    values = arguments(case, poison=0)
    outputs = {argument.name: values.pop(argument.name) for argument in signature.outputs}
    begun = time.perf_counter()
    signature.call(values, outputs)  # type: ignore[arg-type]
    return time.perf_counter() - begun
