"""Do a step's buffers stay where and what they are, as a captured graph needs them? On Paddle tensors.

    steady = Stability(batch, ["ids", "lengths"], lengths_vary=["ids"], tails={"ids": -1})
    step = steady.wrap(step)
    ...                     # calls of step
    steady.require()        # raises Unstable with all that was seen

`batch` is a mapping or an object; each buffer is looked up in it, by name, after every call. What is looked for:

| kind | reported when |
|---|---|
| object | the name stands for another tensor: a fresh one, or a view of the buffer |
| storage | the buffer's memory was replaced, as `copy_` of more than it holds does, silently |
| address | the buffer begins elsewhere |
| shape, dtype | they are others; the first extent of those in `lengths_vary` may be any within the memory |
| tail | behind a buffer's extent stands something else than `tails` says |
| alias | two names that stood for one tensor (`aliases`) no longer do |
| memory | allocated memory grows from call to call |
"""

from __future__ import annotations

import functools
import gc
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from opgold.harness.paddle.tensors import dtype_name, to_array

GROWTHS = 3  # calls in a row after which allocated memory was higher than after the one before

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


class _Buffer:
    """A buffer as it was. The witness is a view of its own: it keeps the memory, so that no address comes back."""

    def __init__(self, name: str, tensor: Any) -> None:
        self.name, self.tensor = name, tensor
        self.witness = tensor.unsqueeze(0)
        self.address, self.shape, self.dtype = tensor.data_ptr(), list(tensor.shape), dtype_name(tensor)
        self.capacity = tensor._holder_size()

    def departures(self, now: Any, varies: bool) -> Iterable[tuple[str, str]]:
        """(kind, message) of each way in which the tensor that the name stands for now is another."""
        kept = bool(now._is_shared_buffer_with(self.witness)) if now.size and self.witness.size else now is self.tensor
        if now is not self.tensor:
            yield "object", f"the name stands for a {'view of the buffer' if kept else 'fresh tensor'}"
        elif not kept and now.size:
            yield "storage", f"the memory was replaced: {self.capacity} bytes before, {now._holder_size()} now"
        if now.size and now.data_ptr() != self.address:
            yield "address", f"{hex(now.data_ptr())}, {hex(self.address)} before"
        shape = list(now.shape)
        if shape != self.shape and not (varies and shape[1:] == self.shape[1:] and len(shape) == len(self.shape)):
            yield "shape", f"{shape}, {self.shape} before"
        if dtype_name(now) != self.dtype:
            yield "dtype", f"{dtype_name(now)}, {self.dtype} before"

    def stale(self, now: Any, fill: float) -> tuple[int, Any] | None:
        """The first element behind the tensor's extent that is not `fill`: its index and value."""
        whole = to_array(self.witness).ravel()
        wrong = np.flatnonzero(whole[now.size :] != fill)
        if not wrong.size:
            return None
        index = int(now.size + wrong[0])
        return index, whole[index]


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
    ) -> None:
        self._holder = holder
        self._buffers = [_Buffer(name, self._of(name)) for name in names]
        self._varies, self._tails, self._aliases = set(lengths_vary), dict(tails or {}), tuple(aliases)
        for name in (*self._varies, *self._tails):
            if name not in names:
                raise ValueError(f"{name!r} is none of the buffers {', '.join(names)}")
        self._calls = 0
        self._allocated: list[int] = []
        self._said: set[tuple[str, str]] = set()
        self.reports: list[Report] = []

    def wrap(self, function: Function) -> Function:
        """The function, after each call of which the buffers are looked at."""

        @functools.wraps(function)
        def watched(*args: Any, **keywords: Any) -> Any:
            result = function(*args, **keywords)
            self.look()
            return result

        return watched  # type: ignore[return-value]

    def look(self) -> list[Report]:
        """Look at the buffers now, as after a call; what is new."""
        self._calls += 1
        before = len(self.reports)
        for buffer in self._buffers:
            now = self._of(buffer.name)
            for kind, message in buffer.departures(now, buffer.name in self._varies):
                self._report(kind, buffer.name, message)
            fill = self._tails.get(buffer.name)
            in_place = now is buffer.tensor and now.size <= buffer.witness.size
            if fill is not None and in_place and (stale := buffer.stale(now, fill)):
                self._report("tail", buffer.name, f"{stale[1]} at element {stale[0]}, expected {fill}")
        for first, second in self._aliases:
            if self._of(first) is not self._of(second):
                self._report("alias", first, f"no longer the same tensor as {second}")
        self._weigh()
        return self.reports[before:]

    def require(self) -> None:
        """Raise Unstable if there is any report."""
        if self.reports:
            raise Unstable("\n".join(map(str, self.reports)))

    def _weigh(self) -> None:
        if self._growing([*self._allocated, _allocated()]):
            gc.collect()  # what is only not collected yet is no growth
        self._allocated.append(_allocated())
        if self._growing(self._allocated):
            growth = (self._allocated[-1] - self._allocated[-1 - GROWTHS]) // GROWTHS
            self._report("memory", "all", f"allocated memory grows by about {growth} bytes a call")

    @staticmethod
    def _growing(allocated: Sequence[int]) -> bool:
        last = allocated[-1 - GROWTHS :]
        return len(last) > GROWTHS and all(b > a for a, b in itertools.pairwise(last))

    def _of(self, name: str) -> Any:
        return self._holder[name] if isinstance(self._holder, Mapping) else getattr(self._holder, name)

    def _report(self, kind: str, name: str, message: str) -> None:
        if (kind, name) not in self._said:
            self._said.add((kind, name))
            self.reports.append(Report(kind, name, self._calls, message))


def _allocated() -> int:
    """Bytes that Paddle's tensors hold on its current device."""
    import paddle

    place, core = paddle.get_device(), paddle.base.core
    if place == "cpu":
        return int(core.host_memory_stat_current_value("Allocated", 0))
    return int(core.device_memory_stat_current_value("Allocated", int(place.partition(":")[2] or 0)))
