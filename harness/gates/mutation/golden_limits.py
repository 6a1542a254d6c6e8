"""What a mutant of a golden model may use, and which lines of golden models run."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from opgold.harness.gates.mutation.golden_mutants import REFERENCE

MEMORY = 4 << 30  # bytes
Line = tuple[str, int]


class OutOfTime(BaseException):
    """Not an Exception: what a golden model raises is its own."""


def limit_memory() -> None:
    """A mutant that asks for more gets a MemoryError, which is caught as any other. Holds for this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime after so many processor seconds."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def traced() -> Iterator[set[Line]]:
    """The lines of golden models that run."""
    lines: set[Line] = set()

    def local(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            lines.add((_model(frame.f_code.co_filename), frame.f_lineno))
        return local

    def enter(frame: FrameType, _event: str, _argument: Any) -> Any:
        return local if _model(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield lines
    finally:
        sys.settrace(before)


@cache
def _model(file: str) -> str:
    """The path of a golden model's file, links resolved; empty for any other."""
    path = Path(file).resolve()
    return str(path) if path.is_relative_to(REFERENCE) else ""
