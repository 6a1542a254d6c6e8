"""One figure of a benchmark, and the table of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

Unit = Literal["empty", "copy", "us"]


@dataclass(frozen=True)
class Target:
    """What a figure should not exceed: so many times an empty kernel or a copy of the same bytes, or microseconds."""

    limit: float
    unit: Unit

    def __str__(self) -> str:
        return f"{self.limit:g} µs" if self.unit == "us" else f"{self.limit:g}x {self.unit}"


@dataclass(frozen=True)
class Row:
    """Microseconds of one call, and of the baselines measured beside it."""

    op: str
    workload: str
    median: float
    minimum: float
    empty: float | None = None
    copy: float | None = None
    target: Target | None = None

    @classmethod
    def of(cls, op: str, workload: str, seconds: Sequence[float], **more: Any) -> Row:
        return cls(op, workload, statistics.median(seconds) * 1e6, min(seconds) * 1e6, **more)

    def ratio(self, unit: Unit) -> float | None:
        """The median by a unit; None where that was not measured."""
        base = {"empty": self.empty, "copy": self.copy, "us": 1.0}[unit]
        return self.median / base if base else None

    @property
    def missed(self) -> bool:
        reached = self.ratio(self.target.unit) if self.target else None
        return self.target is not None and reached is not None and reached > self.target.limit

    def as_json(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "workload": self.workload,
            "median_us": self.median,
            "min_us": self.minimum,
            "to_empty": self.ratio("empty"),
            "to_copy": self.ratio("copy"),
            "target": str(self.target) if self.target else None,
            "missed": self.missed,
        }


def print_rows(rows: Sequence[Row], console: Console | None = None) -> None:
    """The table. A figure over its target is marked; nothing fails."""
    table = Table(title="microseconds of one call: median (least)", title_justify="left")
    for column in ("op", "workload"):
        table.add_column(column)
    for column in ("µs", "x empty", "x copy", "target"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("")
    for row in rows:
        table.add_row(
            row.op,
            row.workload,
            f"{row.median:.2f} ({row.minimum:.2f})",
            *(f"{ratio:.2f}" if (ratio := row.ratio(unit)) else "" for unit in ("empty", "copy")),
            str(row.target or ""),
            "[red]missed[/red]" if row.missed else "[green]ok[/green]" if row.target else "",
        )
    (console or Console()).print(table)
