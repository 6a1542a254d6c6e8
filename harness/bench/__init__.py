"""Benchmarks: figures of one run, with their ratios to baselines of the same run, beside what each should reach."""

from __future__ import annotations

from collections.abc import Sequence

from opgold.harness.bench.row import Row, print_rows
from opgold.reference import schema

__all__ = ["Row", "print_rows", "run"]


def run(backend: str, ops: Sequence[str]) -> list[Row]:
    """Measure ops that have a workload on a backend. `cuda` times kernels on this process's GPU, `cuda-emu` the
    emulator itself (if every op is asked for) and the golden models, `xpu-emu` launches of that emulator. Raises
    ValueError for another backend."""
    if backend == "cuda":
        from opgold.harness.bench import gpu

        return gpu.measure([op for op in ops if backend in schema.load(op).vendors])
    if backend == "cuda-emu":
        from opgold.harness.bench import cpu

        return cpu.measure(ops)
    if backend == "xpu-emu":
        from opgold.harness.bench import xpu

        return list(xpu.launches())
    raise ValueError(f"{backend}: nothing is benchmarked on it, only on cuda, cuda-emu and xpu-emu")
