"""Is what a captured graph reads behind a step's rows as it must be, and is its output cut to the real tokens?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from opgold.harness.glue.departure import Departure, differing
from opgold.harness.glue.holder import Holder, array_of, has, held
from opgold.reference.glue.padded_tail import HIDDEN, IDS, LAST, Step, Tail, required_tails

POISON = 77  # no length, sum, id of a slot or block that a tail may hold
Given = TypeVar("Given")


def check_padding(
    batch: Holder, pad: Callable[[], Any], step: Step, *, vocabulary: int | None = None, hidden: str | None = None
) -> list[Departure]:
    """Poison what stands behind the step's rows, call `pad`, which prepares the step, and look there again.

    What is looked at is the memory that each buffer had before, as a graph does. Buffers are those of
    `required_tails`, with FastDeploy's names, that `batch` has; `hidden` is its name for the hidden rows. Token ids are
    0 up to `vocabulary`, if it is known. Raises ValueError for a buffer that is shorter than the graph reads.
    """
    found: list[Departure] = []
    seen = []
    for name, tail in _tails(step, hidden):
        if has(batch, name):
            buffer = held(batch, name)
            if len(buffer) < (tail.stop or tail.start):
                raise ValueError(f"{name}: {len(buffer)} elements, expected the {tail.stop} that the graph reads")
            if len(buffer[tail.start : tail.stop]):
                buffer[tail.start : tail.stop] = _poison(tail)
                seen.append((name, tail, _memory_of(buffer)))
    pad()
    for name, tail, memory in seen:
        found += _departure(name, tail, array_of(memory)[0], vocabulary)
    return found


def check_replay(
    replay: Callable[[Given], Any], eager: Callable[[Given], Any], given: Iterable[Given], *, kept: bool = False
) -> list[Departure]:
    """Does `replay` return, for all that is `given` in turn, the rows that `eager` returns, and no more?

    Give a large step before a small one, so that what the large one has left would show. With `kept` outputs must also
    stay as they were when a later replay has run.
    """
    found = []
    outputs: list[tuple[Any, np.ndarray]] = []
    for call, one in enumerate(given, 1):
        output = replay(one)
        got, want = array_of(output), array_of(eager(one))
        if len(got) != len(want):
            found.append(Departure(f"output of call {call}", f"{len(got)} rows, expected {len(want)}, the real tokens"))
        found += differing(f"output of call {call}", got[: len(want)], want[: len(got)])
        outputs.append((output, got))
    if kept:
        for call, (output, then) in enumerate(outputs, 1):
            found += differing(f"output of call {call}", array_of(output), then, "as it was returned")
    return found


def _tails(step: Step, hidden: str | None) -> Iterable[tuple[str, Tail]]:
    for name, tail in required_tails(step).items():
        yield (hidden if hidden and tail.value == HIDDEN else name), tail


def _poison(tail: Tail) -> float:
    others: dict[int | str, float] = {IDS: -POISON, HIDDEN: float("nan")}
    return others.get(tail.value, POISON)


def _memory_of(buffer: Any) -> Any:
    """A view of its own shape: it sees the memory though the buffer shrinks or is replaced."""
    return buffer.unsqueeze(0) if hasattr(buffer, "unsqueeze") else buffer[None]


def _departure(name: str, tail: Tail, memory: np.ndarray, vocabulary: int | None) -> Iterable[Departure]:
    values = memory[tail.start : tail.stop]
    if tail.value == HIDDEN:
        right, expected = np.isfinite(values.astype(np.float64)), "finite numbers"
    elif tail.value == IDS:
        most = np.iinfo(values.dtype).max if vocabulary is None else vocabulary
        right, expected = (values >= 0) & (values < most), "a token id"
    else:
        value = memory[tail.start - 1] if tail.value == LAST else tail.value
        right, expected = values == value, str(value)
    wrong = np.argwhere(~right)
    if wrong.size:
        first = tuple(int(i) for i in wrong[0])
        place = ", ".join(map(str, (first[0] + tail.start, *first[1:])))
        yield Departure(f"{name}[{place}]", f"{values[first]}, expected {expected}")
