"""Who plays a sequence that is timed: the golden models alone, or the emulator beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opgold.harness import backends
from opgold.harness.backends.base import Backend

LIMITS = {"golden": 10_000, "cuda-emu": 60_000}  # microseconds a step or round: 1,000 of them in 10 s and in 60 s


def sides(ops: Sequence[str]) -> Iterator[tuple[str, Backend | None]]:
    """The name of each side, and what is called beside the golden models, with the kernels of `ops` built."""
    emulator = backends.get("cuda-emu")
    for op in ops:
        emulator.prepare(op)
    yield "golden", None
    yield emulator.name, emulator
