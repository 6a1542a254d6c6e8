"""What one call on a device reports."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from opgold.kernels import symbolize


@dataclass(frozen=True)
class Place:
    """Where in a launch an access was made: block and thread (on an XPU cluster and core), and the library address."""

    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    access: str | None = None
    machine: str = "cuda"
    library: str | None = None
    pc: int | None = None

    @classmethod
    def of(cls, record: dict[str, Any], machine: str = "cuda") -> Place:
        block, thread = record.get("block"), record.get("thread")
        return cls(
            tuple(block) if block else None,
            tuple(thread) if thread else None,
            record.get("access"),
            machine,
            record.get("library"),
            record.get("pc"),
        )

    @cached_property
    def frames(self) -> list[symbolize.Frame]:
        """Innermost first; empty when the address is not known."""
        if self.library is None or self.pc is None:
            return []
        return symbolize.frames(Path(self.library), self.pc)

    def __str__(self) -> str:
        parts = []
        if self.block is not None:
            parts.append(f"{'cluster' if self.machine == 'xpu' else 'block'} {_index(self.block)}")
        if self.thread is not None:
            parts.append(f"{'core' if self.machine == 'xpu' else 'thread'} {_index(self.thread)}")
        where = " ".join(parts)
        if not self.frames:
            return where
        chain = " < ".join(f"{Path(frame.file).name}:{frame.line}" for frame in self.frames)
        return f"{where}, {chain}" if where else chain


def _index(index: tuple[int, int, int]) -> str:
    """(x, y, z) without trailing zeros."""
    x, y, z = index
    return f"({x}, {y}, {z})" if z else f"({x}, {y})" if y else str(x)


@dataclass(frozen=True)
class Fault:
    """Something unlawful that a device saw. Kinds and keys: docs/findings.md."""

    kind: str
    place: Place
    kernel: str | None = None
    memory: str | None = None
    argument: str | None = None
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    element: int | None = None
    size: int | None = None
    file: str | None = None
    line: int | None = None
    other: Place | None = None
    count: int = 1
    detail: str = ""

    @classmethod
    def of(cls, record: dict[str, Any]) -> Fault:
        shape, other, machine = record.get("shape"), record.get("other"), record.get("machine", "cuda")
        plain = ("kernel", "memory", "argument", "dtype", "element", "size", "file", "line")
        return cls(
            record["kind"],
            **{name: record.get(name) for name in plain},
            place=Place.of(record, machine),
            shape=None if shape is None else tuple(shape),
            other=Place.of(other, machine) if other else None,
            count=record.get("count", 1),
            detail=record.get("detail", ""),
        )

    @property
    def target(self) -> str:
        """`name` (dtype[shape]), or an empty string."""
        if not self.argument:
            return ""
        if self.dtype and self.shape is not None:
            return f"`{self.argument}` ({self.dtype}[{', '.join(map(str, self.shape))}])"
        return f"`{self.argument}`"

    def __str__(self) -> str:
        """One sentence: the buffer and element, what happened, who did it and where."""
        parts = []
        if self.target:
            parts.append(self.target + (f": element {self.element}" if self.element is not None else ""))
        access = {"read": "read", "write": "written", "atomic": "updated atomically"}.get(self.place.access or "")
        did = [part for part in (access if self.argument else None, self.detail) if part]
        if did:
            parts.append(", ".join(did))
        text = " ".join(parts) if self.target else ": ".join(parts)
        place = str(self.place)
        if self.file and not self.place.frames:
            place = ", ".join(part for part in (place, f"{Path(self.file).name}:{self.line}") if part)
        if self.kernel:
            place = f"{self.kernel}, {place}" if place else self.kernel
        text += f" by {place}" if place else ""
        if self.other is not None:
            text += f"; the other: {self.other.access or 'thread'} by {self.other}"
        return text + (f" (and {self.count - 1} more like it)" if self.count > 1 else "")


@dataclass(frozen=True)
class Excuse:
    """An annotation of a kernel that a call came to (bindings/annotations.h), and how many accesses it excused."""

    kind: str
    reason: str
    file: str
    line: int
    count: int


@dataclass(frozen=True)
class Report:
    """One call: `error` is what the launcher refused, `seconds` the entry's own time.

    `given` tells where each argument was handed in, `addresses` where it lies after the call. After `device_lost`,
    nothing that the same process calls on the device works any more.
    """

    error: str | None
    seconds: float
    launches: list[dict[str, Any]] = field(default_factory=list)
    given: dict[str, int] = field(default_factory=dict)
    addresses: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    device_lost: bool = False
    excuses: list[Excuse] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> Report:
        record = json.loads(text)
        return cls(
            record.get("error"),
            record.get("seconds", 0.0),
            record.get("launches", []),
            record.get("given", {}),
            record.get("addresses", {}),
            [Fault.of(finding) for finding in record.get("findings", [])],
            record.get("device_lost", False),
            [Excuse(**excuse) for excuse in record.get("excuses", [])],
        )
