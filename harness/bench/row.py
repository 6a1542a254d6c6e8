"""One figure of a benchmark, and the table of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from opgold.cases.workload import Workload
from opgold.harness.case import Case
from opgold.harness.locate import strategy


@dataclass(frozen=True)
class Row:
    """Microseconds of one call, and of the baselines measured beside it. `limit` is in `unit`, as a workload's."""

    op: str
    workload: str
    median: float
    minimum: float
    empty: float | None = None
    copy: float | None = None
    read: float | None = None
    limit: float | None = None
    unit: str = "us"

    @classmethod
    def of(cls, op: str, workload: str, seconds: Sequence[float], **more: Any) -> Row:
        return cls(op, workload, statistics.median(seconds) * 1e6, min(seconds) * 1e6, **more)

    def ratio(self, unit: str) -> float | None:
        """The median by a unit; None where that was not measured."""
        base = {"empty": self.empty, "copy": self.copy, "read": self.read, "us": 1.0}[unit]
        return self.median / base if base else None

    @property
    def target(self) -> str:
        if self.limit is None:
            return ""
        return f"{self.limit:g} µs" if self.unit == "us" else f"{self.limit:g}x {self.unit}"

    @property
    def missed(self) -> bool:
        reached = self.ratio(self.unit)
        return self.limit is not None and reached is not None and reached > self.limit

    def as_json(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "workload": self.workload,
            "median_us": self.median,
            "min_us": self.minimum,
            "to_empty": self.ratio("empty"),
            "to_copy": self.ratio("copy"),
            "to_read": self.ratio("read"),
            "target": self.target or None,
            "missed": self.missed,
        }


def workloads(ops: Sequence[str], *units: str) -> Iterator[tuple[Case, Workload]]:
    """The workloads of the ops that are measured in one of `units`, each with its case."""
    for op in ops:
        for workload in getattr(strategy(op), "WORKLOADS", ()):
            if workload.unit in units:
                yield Case(op, workload.inputs(workload.batch)), workload


def print_rows(rows: Sequence[Row], console: Console | None = None) -> None:
    """The table, a column for each baseline that was measured. A figure over its target is marked; nothing fails."""
    measured = [unit for unit in ("empty", "copy", "read") if any(row.ratio(unit) for row in rows)]
    table = Table(title="microseconds of one call: median (least)", title_justify="left", box=None, pad_edge=False)
    table.add_column("op", overflow="fold")
    table.add_column("workload", overflow="fold")
    for column in ("µs", *(f"x {unit}" for unit in measured), "target", ""):
        table.add_column(column, justify="right" if column else "left", no_wrap=True, min_width=len(column))
    for row in rows:
        table.add_row(
            row.op,
            row.workload,
            f"{row.median:.2f} ({row.minimum:.2f})",
            *(f"{ratio:.2f}" if (ratio := row.ratio(unit)) else "" for unit in measured),
            row.target,
            "[red]missed[/red]" if row.missed else "[green]ok[/green]" if row.target else "",
        )
    (console or Console()).print(table)
