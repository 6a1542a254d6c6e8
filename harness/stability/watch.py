"""The watch over buffers from call to call."""

from __future__ import annotations

import functools
import gc
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from opgold.harness.glue.holder import held, share_memory
from opgold.harness.glue.packing import unpaired
from opgold.harness.stability import copies, memory
from opgold.harness.stability.buffer import Buffer
from opgold.reference.glue.packing import Packing

GROWTHS = 3  # calls in a row after which allocated memory was higher than after the one before

Captured = tuple[tuple[str, int, tuple[int, ...]], ...]  # name, address and shape of what a graph reads
Function = TypeVar("Function", bound=Callable[..., Any])


class Unstable(AssertionError):
    """Buffers that did not stay. The message has a line for each report."""


@dataclass(frozen=True)
class Report:
    """One departure: its kind, the buffer, the number of the call after which it was seen, and what it is."""

    kind: str
    name: str
    call: int
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} after call {self.call}: {self.message}"


class Stability:
    """Watches buffers over calls. `reports` holds each departure once, from the call that showed it first."""

    def __init__(
        self,
        holder: Mapping[str, Any] | object,
        names: Sequence[str],
        *,
        lengths_vary: Iterable[str] = (),
        tails: Mapping[str, float] | None = None,
        aliases: Iterable[tuple[str, str]] = (),
        distinct: Iterable[tuple[str, str]] = (),
        packings: Iterable[Packing] = (),
        peak: int | None = None,
    ) -> None:
        gc.collect()  # what is no longer used now must not be freed while growth is looked for
        self._holder = holder
        self._buffers = [Buffer(name, self._of(name)) for name in names]
        self._varies, self._tails = set(lengths_vary), dict(tails or {})
        self._aliases, self._distinct, self._packings = tuple(aliases), tuple(distinct), tuple(packings)
        self._peak = peak
        self._writes: list[tuple[Buffer, Any, Any]] = []
        for name in (*self._varies, *self._tails):
            self._buffer(name)
        self._calls = 0
        self._weights: list[int] = []
        self._said: set[tuple[str, str]] = set()
        self.reports: list[Report] = []

    def wrap(self, function: Function) -> Function:
        """The function, after each call of which the buffers are looked at."""

        @functools.wraps(function)
        def watched(*args: Any, **keywords: Any) -> Any:
            before = memory.allocated()
            memory.reset_peak()
            with copies.seen(self._copied):
                result = function(*args, **keywords)
            peak = memory.peak() - before
            self.look()
            if self._peak is not None and peak > self._peak:
                self._report("peak", "all", f"{peak} bytes more within the call, expected at most {self._peak}")
            return result

        return watched  # type: ignore[return-value]

    def look(self) -> list[Report]:
        """Look at the buffers now, as after a call; what is new."""
        self._calls += 1
        before = len(self.reports)
        self._look_at_buffers()
        self._look_at_pairs()
        for buffer, index, value in self._writes:
            if message := buffer.lost(self._of(buffer.name), index, value):
                self._report("lost", buffer.name, message)
        self._writes.clear()
        self._weigh()
        return self.reports[before:]

    def expect_write(self, name: str, index: Any, value: Any) -> None:
        """The next call writes `value` to the buffer at `index`, an integer, a slice or a tuple of them: it must be
        there afterwards. Raises ValueError for a name that is none of the buffers."""
        self._writes.append((self._buffer(name), index, value))

    def capture(self, *names: str) -> Captured:
        """What a graph that is captured now reads: the buffers of these names, or all. Raises ValueError for a name
        that is none of the buffers."""
        chosen = [self._buffer(name) for name in names] or self._buffers
        tensors = [(buffer.name, self._of(buffer.name)) for buffer in chosen]
        return tuple((name, tensor.data_ptr(), tuple(tensor.shape)) for name, tensor in tensors)

    def replay(self, captured: Captured) -> list[Report]:
        """Call it just before the graph is replayed: each name must stand for a tensor at the address that the graph
        captured, of its shape or with fewer rows; what is new."""
        before = len(self.reports)
        for name, address, shape in captured:
            now = self._of(name)
            if now.size and now.data_ptr() != address:
                self._report("replay", name, f"the graph reads {hex(address)}, the tensor is at {hex(now.data_ptr())}")
            elif len(now.shape) != len(shape) or tuple(now.shape[1:]) != shape[1:] or now.size > math.prod(shape):
                self._report("replay", name, f"the graph reads {list(shape)}, the tensor is {list(now.shape)}")
        return self.reports[before:]

    def require(self) -> None:
        """Raise Unstable if there is any report."""
        if self.reports:
            raise Unstable("\n".join(map(str, self.reports)))

    def _look_at_buffers(self) -> None:
        for buffer in self._buffers:
            now = self._of(buffer.name)
            for kind, message in buffer.departures(now, buffer.name in self._varies):
                self._report(kind, buffer.name, message)
            fill = self._tails.get(buffer.name)
            in_place = now is buffer.tensor and now.size <= buffer.witness.size
            if fill is not None and in_place and (stale := buffer.stale(now, fill)):
                self._report("tail", buffer.name, f"{stale[1]} at element {stale[0]}, expected {fill}")

    def _look_at_pairs(self) -> None:
        for first, second in self._aliases:
            if self._of(first) is not self._of(second):
                self._report("alias", first, f"no longer the same tensor as {second}")
        for first, second in self._distinct:
            if share_memory(self._of(first), self._of(second)):
                self._report("distinct", first, f"shares its memory with {second}")
        for packing in self._packings:
            for departure in unpaired(self._holder, packing):
                self._report("pair", departure.name, departure.message)

    def _copied(self, target: Any, source: Any) -> None:
        """Before a copy: does it fit?"""
        for buffer in self._buffers:
            if message := buffer.overrun(target, source):
                self._report("capacity", buffer.name, message, self._calls + 1)

    def _buffer(self, name: str) -> Buffer:
        found = [buffer for buffer in self._buffers if buffer.name == name]
        if not found:
            raise ValueError(f"{name!r} is none of the buffers {', '.join(b.name for b in self._buffers)}")
        return found[0]

    def _weigh(self) -> None:
        if self._growing([*self._weights, memory.allocated()]):
            gc.collect()  # what is only not collected yet is no growth
        self._weights.append(memory.allocated())
        if self._growing(self._weights):
            growth = (self._weights[-1] - self._weights[-1 - GROWTHS]) // GROWTHS
            self._report("memory", "all", f"allocated memory grows by about {growth} bytes a call")

    @staticmethod
    def _growing(allocated: Sequence[int]) -> bool:
        last = allocated[-1 - GROWTHS :]
        return len(last) > GROWTHS and all(b > a for a, b in itertools.pairwise(last))

    def _of(self, name: str) -> Any:
        return held(self._holder, name)

    def _report(self, kind: str, name: str, message: str, call: int | None = None) -> None:
        if (kind, name) not in self._said:
            self._said.add((kind, name))
            self.reports.append(Report(kind, name, self._calls if call is None else call, message))
