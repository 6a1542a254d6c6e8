"""The XPU emulator's own cost, and how much of its memories each kernel uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from opgold.harness.backends.base import Variant
from opgold.harness.backends.native import Native
from opgold.harness.bench.row import Row, workloads
from opgold.harness.case import Case
from opgold.harness.runner import run_backend
from opgold.harness.show import example
from opgold.kernels import build, runtime

LOCAL, SHARED = 8 * 1024, 256 * 1024  # bytes of a core, and of a cluster
LARGEST = 2**26  # bytes of arguments that are run on the emulator
WARM_UP, SAMPLES = 5, 50
LAUNCHES = (("64 cores", 0, 50.0), ("64 cores, 3 barriers", 3, None))


@dataclass(frozen=True)
class Budget:
    """What one launch of a kernel used: bytes of local memory with the stack, the most of any core, and bytes of the
    memory that a cluster shares. Host frames are larger than a device's."""

    op: str
    workload: str
    kernel: str
    grid: str
    local: int
    shared: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def launches() -> Iterator[Row]:
    """Launches of one cluster, checked, as the emulator itself times them."""
    library = build.kernel_library(build.KERNELS / "bench" / "meeting.xpu", target="xpu-emu")
    device = runtime.device("xpu-emu")
    source, target = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    for workload, barriers, limit in LAUNCHES:
        seconds = []
        for _ in range(WARM_UP + SAMPLES):
            tensors = [("source", source, "in"), ("target", target, "out")]
            seconds.append(
                device.call(library, "meeting", tensors=tensors, attributes=[("barriers", barriers)]).seconds
            )
        yield Row.of("(emulator, checked)", workload, seconds[WARM_UP:], limit=limit)


def budgets(ops: Sequence[str]) -> Iterator[Budget]:
    """Every launch of the ops' workloads, or of a small case where those are too large for a CPU."""
    backend = Native("xpu-emu", "checked")
    for op in filter(backend.has, ops):
        for case, workload in _runnable(op):
            for launch in run_backend(case, backend, Variant()).report.launches:
                grid = f"{launch['grid'][0]} x {launch['block'][0]}"
                kernel = launch["kernel"].removeprefix("xpu::")
                yield Budget(op, workload, kernel, grid, launch["local_bytes"], launch["shared_bytes"])


def _runnable(op: str) -> list[tuple[Case, str]]:
    found = [(case, workload.batch.name) for case, workload in workloads([op], "empty", "copy", "read")]
    fitting = [(case, name) for case, name in found if _size(case) <= LARGEST]
    return fitting or [(example(op), "a small case")]


def _size(case: Case) -> int:
    return sum(value.nbytes for value in case.inputs.values() if isinstance(value, np.ndarray))


def print_budgets(found: Sequence[Budget], console: Console | None = None) -> None:
    title = f"bytes that XPU kernels use: of {LOCAL:,} in a core, of {SHARED:,} in a cluster"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in ("op", "workload", "kernel", "grid"):
        table.add_column(column, overflow="fold")
    for column in ("local", "shared"):
        table.add_column(column, justify="right", no_wrap=True)
    for budget in found:
        over = budget.local > LOCAL or budget.shared > SHARED
        local = f"[red]{budget.local:,}[/red]" if over else f"{budget.local:,}"
        table.add_row(budget.op, budget.workload, budget.kernel, budget.grid, local, f"{budget.shared:,}")
    (console or Console()).print(table)
