"""A departure from what the glue must guarantee, and how it is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

SHOWN = 8  # elements of two arrays that are shown whole


class Departed(AssertionError):
    """What departs. The message has a line for each departure."""


@dataclass(frozen=True)
class Departure:
    """One departure: what has it, a buffer with its index or an argument, and in which way."""

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


def require(departures: Sequence[Departure]) -> None:
    """Raise Departed if there is any."""
    if departures:
        raise Departed("\n".join(map(str, departures)))


def indexed(name: str, index: Sequence[int]) -> str:
    """`name[i, j]`."""
    return f"{name}[{', '.join(map(str, index))}]" if len(index) else name


def differing(name: str, got: np.ndarray, want: np.ndarray, why: str = "") -> Iterator[Departure]:
    """The departure of an array from the one expected, if it departs: shape, else the first element that differs, and
    both whole where they are short. NaN equals NaN."""
    reason = f", {why}" if why else ""
    if got.shape != want.shape:
        yield Departure(name, f"shape {list(got.shape)}, expected {list(want.shape)}{reason}")
        return
    unequal = got != want
    if want.dtype.kind == "f":
        unequal &= ~(np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64)))
    wrong = np.argwhere(unequal)
    if wrong.size:
        index = tuple(int(i) for i in wrong[0])
        more = f" ({len(wrong)} elements differ)" if len(wrong) > 1 else ""
        whole = f"; {got.tolist()}, expected {want.tolist()}" if len(wrong) > 1 and got.size <= SHOWN else ""
        yield Departure(indexed(name, index), f"{got[index]}, expected {want[index]}{reason}{more}{whole}")
