"""Does a swap of two slots move all that belongs to them, and nothing else?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from opgold.harness.glue.departure import Departure
from opgold.harness.glue.holder import array_of, held, is_array
from opgold.harness.glue.snapshot import Held, Snapshot
from opgold.reference.glue.groups import Side
from opgold.reference.glue.packing import Packing
from opgold.reference.glue.slots import swap_states


def check_swap(
    swap: Callable[[int, int], Any],
    first: int,
    second: int,
    *sides: Held,
    packings: Sequence[Packing] = (),
    invalid: Iterable[str] = (),
) -> list[Departure]:
    """Call `swap(first, second)` and hold the batches to the golden model: the target's, and the proposer's behind it.

    Carried rows and the slot map change places, in place. Derived arrays named in `packings` must have been made again
    from the swapped lengths; those in `invalid` are not looked at; all others must be as they were, for nothing that is
    swapped in them would be right. Host mirrors may be swapped or left. A swap that the golden model refuses must raise
    before it changes anything.

    Raises ValueError where two rows of a carried array hold the same: such a swap shows nothing (`distinguish`).
    """
    before, after = Snapshot(sides), Snapshot(sides)
    try:
        swap_states(first, second, *after.sides)
    except ValueError as error:
        return _refused(swap, first, second, before, str(error))
    if first != second:
        _require_distinct(before.sides, first, second)
    try:
        swap(first, second)
    except Exception as error:  # whatever the swap raises
        return [Departure(f"swap({first}, {second})", f"raises {type(error).__name__}: {error}"), *_changed(before)]
    found = list(before.moved())
    skipped = set(invalid)
    why = f"slots {first} and {second} change places"
    for number, side in enumerate(after.sides):
        made = {name: values for packing in packings for name, values in _packed(packing, side)}
        for name, value in side.batch.items():
            if name in side.groups.mirrors:
                found += _mirror(before, number, name, first, second)
            elif name in made:
                found += before.departures(number, name, made[name], f"from the lengths after {why}")
            elif name not in skipped:
                moves = name in side.groups.carried or name in side.groups.views
                found += before.departures(number, name, value, why if moves else "as before the swap")
    return found


def distinguish(side: Held, first: int, second: int) -> None:
    """Change row `first` of carried arrays and lists that hold the same in both slots, so that a swap shows."""
    for name in side.names():
        if name in side.groups.carried:
            rows = held(side.holder, name)
            if min(first, second) < 0 or max(first, second) >= len(rows) or not _equal(rows[first], rows[second]):
                continue
            if isinstance(rows, list):
                rows[first] = f"{name} of slot {first}"
            else:
                row = array_of(rows)[first]
                changed = ~row if row.dtype == bool else (row + 1).astype(row.dtype)
                rows[first] = changed if isinstance(rows, np.ndarray) else _like(rows, changed)


def _like(tensor: Any, array: np.ndarray) -> Any:
    from opgold.harness.paddle.tensors import to_tensor

    return to_tensor(np.asarray(array)).astype(tensor.dtype)


def _equal(first: Any, second: Any) -> bool:
    return bool(np.array_equal(array_of(first), array_of(second)) if is_array(first) else first == second)


def _require_distinct(sides: Sequence[Side], first: int, second: int) -> None:
    same = sorted({name for side in sides for name, rows in side.carried() if _equal(rows[first], rows[second])})
    if same:
        raise ValueError(
            f"{', '.join(same)}: slots {first} and {second} hold the same, so a swap of them shows nothing"
        )


def _packed(packing: Packing, side: Side) -> Iterable[tuple[str, np.ndarray]]:
    return packing.packed(side.batch).items() if packing.sums in side.batch else ()


def _mirror(before: Snapshot, number: int, name: str, first: int, second: int) -> list[Departure]:
    """A mirror is as it was, or its rows are swapped."""
    rows = before.sides[number].batch[name]
    left = list(before.departures(number, name, rows, "swapped or as before the swap"))
    if max(first, second) >= len(rows):
        return left
    swapped = rows.copy()
    swapped[[first, second]] = rows[[second, first]]
    return left and list(before.departures(number, name, swapped, "swapped or as before the swap"))


def _refused(swap: Callable[[int, int], Any], first: int, second: int, before: Snapshot, why: str) -> list[Departure]:
    try:
        swap(first, second)
    except Exception:  # any error will do
        return list(_changed(before))
    return [Departure(f"swap({first}, {second})", f"raises nothing, expected an error: {why}"), *_changed(before)]


def _changed(before: Snapshot) -> Iterator[Departure]:
    """What a swap that raised has changed."""
    yield from before.moved()
    for number, side in enumerate(before.sides):
        for name, value in side.batch.items():
            yield from before.departures(number, name, value, "as before the swap that raised")
