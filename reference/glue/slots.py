"""Slots that change places: swap, condense, reorder, the proposer's following, and the lookup of a slot.

Sides are the target's batch and, where there is one, the proposer's behind it. Only carried rows and slot maps change,
in place; an array or list that both sides hold is changed once. Derived arrays are left as they are: nothing reads them
before `packing.repack` or the next step's packing has made them again. Source: the Python glue, sections 2.3 and 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from opgold.reference.glue.groups import Side


def swap_states(first: int, second: int, *sides: Side) -> None:
    """Slots `first` and `second` change places: every carried row and list entry, and the slot maps' entries.

    Raises ValueError, before anything changes, for a slot that any carried array or list does not reach, and for a list
    of slot numbers that is not empty: how to number its entries anew is not defined.
    """
    rows = list(_once(sides))
    for name, values in rows:
        for slot in (first, second):
            if not 0 <= slot < len(values):
                raise ValueError(f"slot {slot}: {name} has {len(values)} rows, expected 0 to {len(values) - 1}")
    for side in sides:
        for name, counter in side.groups.slot_numbers.items():
            count = side.batch.get(counter)
            if count is not None and np.any(np.asarray(count)):
                raise ValueError(f"{name}: holds {np.asarray(count).item()} slot numbers, expected none at a swap")
    for _, values in rows:
        if isinstance(values, np.ndarray):
            values[[first, second]] = values[[second, first]]
        else:
            values[first], values[second] = values[second], values[first]
    for slot_map in _maps(sides):
        _swap_keys(slot_map, first, second)


def condense(*sides: Side) -> None:
    """The running requests move to the first slots, in ascending slot order; the map's keys are then 0 to the number of
    running requests. Raises ValueError as `swap_states` does."""
    for place, slot in enumerate(sorted(sides[0].slot_map)):
        if slot != place:
            swap_states(place, slot, *sides)


def reorder(prefills: Sequence[bool], *sides: Side) -> None:
    """Slots that decode, or idle, come before those with a prompt chunk; the order within a class is free.

    `prefills` says of each slot whether it has one (an encoder length), as read once before anything moves.
    """
    moving = list(map(bool, prefills))
    low, high = 0, len(moving) - 1
    while low < high:
        if not moving[low]:
            low += 1
        elif moving[high]:
            high -= 1
        else:
            swap_states(low, high, *sides)
            moving[low], moving[high] = moving[high], moving[low]


def follow(target: Mapping[int, Any], proposer: Side) -> None:
    """The proposer's slots are swapped until its map is the target's; then it drops what the target lacks.

    Raises ValueError for a request of the target that the proposer lacks.
    """
    own = proposer.slot_map
    for slot in sorted(target):
        place = next((key for key, request in own.items() if request == target[slot]), None)
        if place is None:
            raise ValueError(f"{proposer.groups.slot_map}: lacks request {target[slot]} of slot {slot}")
        if place != slot:
            swap_states(place, slot, proposer)
    for slot in set(own) - set(target):
        del own[slot]


def slot_for(request: Any, slot_map: MutableMapping[int, Any], max_num_seqs: int) -> int:
    """The slot of a request: its own, else the least free one, which is entered in the map.

    Raises ValueError where none is free.
    """
    for slot, other in slot_map.items():
        if other == request:
            return slot
    free = sorted(set(range(max_num_seqs)) - set(slot_map))
    if not free:
        raise ValueError(f"request {request}: all {max_num_seqs} slots are taken")
    slot_map[free[0]] = request
    return free[0]


def recover(outputs: Mapping[str, Any], slot_map: Mapping[int, Any]) -> dict[str, Any]:
    """The rows of outputs in ascending order of requests, without those of slots that run none; new arrays and lists.

    Raises ValueError for an output that has no row for a slot of the map.
    """
    order = sorted(slot_map, key=lambda slot: slot_map[slot])
    for name, rows in outputs.items():
        missing = [slot for slot in order if slot >= len(rows)]
        if missing:
            raise ValueError(f"{name}: {len(rows)} rows, expected one for slot {missing[0]}")
    return {
        name: rows[order] if isinstance(rows, np.ndarray) else [rows[slot] for slot in order]
        for name, rows in outputs.items()
    }


def _once(sides: Sequence[Side]) -> Iterator[tuple[str, Any]]:
    """Carried arrays and lists, each object once, though both sides or two names hold it."""
    seen: set[int] = set()
    for side in sides:
        for name, values in side.carried():
            if id(values) not in seen:
                seen.add(id(values))
                yield name, values


def _maps(sides: Sequence[Side]) -> Iterator[dict[int, Any]]:
    found = {id(m): m for side in sides if (m := side.batch.get(side.groups.slot_map)) is not None}
    yield from found.values()


def _swap_keys(slot_map: dict[int, Any], first: int, second: int) -> None:
    held = {second: slot_map.pop(first, None), first: slot_map.pop(second, None)} if first != second else {}
    slot_map.update({slot: request for slot, request in held.items() if request is not None})
