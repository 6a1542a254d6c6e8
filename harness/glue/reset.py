"""Does a reset give every buffer back its first content, shape, capacity and place?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opgold.harness.glue.departure import Departure
from opgold.harness.glue.holder import held, is_array
from opgold.harness.glue.snapshot import Held, Snapshot


def check_reset(use: Callable[[], Any], reset: Callable[[], Any], *sides: Held) -> list[Departure]:
    """Take the batches as they are, just made; call `use`, which runs steps on them, and then `reset`."""
    first = Snapshot(sides)
    capacities = _capacities(sides)
    use()
    reset()
    found = list(first.moved())
    for number, side in enumerate(first.sides):
        for name, value in side.batch.items():
            found += first.departures(number, name, value, "as it was made")
    for (label, was), (_, now) in zip(capacities.items(), _capacities(sides).items(), strict=True):
        if was != now:
            found.append(Departure(label, f"a capacity of {now} bytes, expected {was}"))
    return found


def _capacities(sides: tuple[Held, ...]) -> dict[str, int]:
    """Bytes of the memory of each tensor and array."""
    found = {}
    for side in sides:
        for name in side.names():
            value = held(side.holder, name)
            if is_array(value):
                found[side.label + name] = int(value._holder_size() if hasattr(value, "_holder_size") else value.nbytes)
    return found
