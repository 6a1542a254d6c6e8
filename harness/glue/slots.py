"""Do requests keep their rows when slots are condensed, reordered, looked up, followed and recovered?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from opgold.harness.glue.departure import Departure
from opgold.harness.glue.holder import array_of, has, held, is_array
from opgold.harness.glue.snapshot import Held, Snapshot
from opgold.reference.glue import slots
from opgold.reference.glue.groups import Side


def check_condense(condense: Callable[[], Any], *sides: Held) -> list[Departure]:
    """Call `condense`: the running requests must be in the first slots, in the order of their slots, with all their
    rows. What the slots behind them hold is not looked at."""
    want = Snapshot(sides)
    slots.condense(*want.sides)
    return _moved(condense, "condense", sides, want.sides)


def check_reorder(reorder: Callable[[], Any], prefills: Sequence[bool], *sides: Held) -> list[Departure]:
    """Call `reorder`: slots that decode or idle must come before those with a prompt chunk, and requests must keep
    their rows. `prefills` says of each slot, as it is before, whether it has a chunk."""
    want = Snapshot(sides)
    before = dict(want.sides[0].slot_map)
    has_chunk = {before[slot]: bool(chunk) for slot, chunk in enumerate(prefills) if slot in before}
    found = _moved(reorder, "reorder", sides, None)
    now = dict(held(sides[0].holder, sides[0].groups.slot_map))
    first = min((slot for slot, request in now.items() if has_chunk.get(request)), default=len(prefills))
    late = sorted(slot for slot in range(first, len(prefills)) if not has_chunk.get(now.get(slot)))
    if late:
        found.append(Departure(f"slot {late[0]}", f"has no prompt chunk, expected before slot {first}, which has one"))
    return found


def check_follow(follow: Callable[[], Any], target: Held, proposer: Held) -> list[Departure]:
    """Call `follow`, the proposer's reorder: its map must become the target's, and its requests keep their rows."""
    want = Snapshot([proposer])
    slots.follow(dict(held(target.holder, target.groups.slot_map)), want.sides[0])
    return _moved(follow, "follow", [proposer], want.sides)


def check_slot_for(
    slot_for: Callable[[Any], int], slot_map: MutableMapping[int, Any], requests: Sequence[Any], max_num_seqs: int
) -> list[Departure]:
    """Call `slot_for` for each request in turn: it must return the slot that the map, which it changes, gives the
    request, a free one if it had none, and touch no other entry."""
    found = []
    for request in requests:
        before = dict(slot_map)
        own = {slot for slot, other in before.items() if other == request}
        free = set(range(max_num_seqs)) - set(before)
        got = slot_for(request)
        name = f"slot of request {request}"
        if got not in (own or free):
            holder = f", which is request {before[got]}'s" if got in before else ""
            found.append(Departure(name, f"{got}{holder}, expected {_one_of(own or free)}"))
        if slot_map.get(got) != request:
            entered = sorted(slot for slot, other in slot_map.items() if other == request)
            found.append(Departure(name, f"returned {got}, but the map says {_one_of(set(entered))}"))
        lost = sorted(slot for slot, other in before.items() if slot_map.get(slot) != other)
        if lost:
            found.append(Departure(f"slot {lost[0]}", f"lost request {before[lost[0]]} to request {request}"))
    return found


def check_recover(
    recover: Callable[[], Mapping[str, Any]], outputs: Mapping[str, Any], slot_map: Mapping[int, Any]
) -> list[Departure]:
    """Call `recover`, which returns the outputs, arrays and lists, by name: their first rows must be those of `outputs`
    in ascending order of requests. What stands behind them is not looked at."""
    taken = {name: array_of(rows) if is_array(rows) else copy.copy(rows) for name, rows in outputs.items()}
    want = slots.recover(taken, slot_map)
    got = recover()
    found = []
    for name, rows in want.items():
        if name not in got:
            found.append(Departure(name, f"is not there; there are {', '.join(sorted(got))}"))
            continue
        now = array_of(got[name]) if is_array(got[name]) else got[name]
        wrong = [i for i, row in enumerate(rows) if i >= len(now) or not np.array_equal(now[i], row)]
        if wrong:
            index = wrong[0]
            value = repr(_plain(now[index])) if index < len(now) else "nothing"
            found.append(Departure(f"{name}[{index}]", f"{value}, expected {_plain(rows[index])!r}"))
    return found


def _moved(call: Callable[[], Any], name: str, sides: Sequence[Held], want: Sequence[Side] | None) -> list[Departure]:
    """Call it: the slot maps must be as `want` has them, and each request must have the rows that it had."""
    before = Snapshot(sides)
    try:
        call()
    except Exception as error:  # whatever it raises
        return [Departure(name, f"raises {type(error).__name__}: {error}")]
    found = list(before.moved())
    for number, (side, was) in enumerate(zip(sides, before.sides, strict=True)):
        own = _map_of(side) is not None
        map_now, map_was = (_map_of(side), was.slot_map) if own else (_map_of(sides[0]), before.sides[0].slot_map)
        if own and want is not None:
            found += before.departures(number, side.groups.slot_map, want[number].slot_map)
        found += _torn(side, was, map_was, map_now or {})
    return found


def _map_of(side: Held) -> dict[int, Any] | None:
    """The slot map of a side, if it has one of its own."""
    return held(side.holder, side.groups.slot_map) if has(side.holder, side.groups.slot_map) else None


def _torn(side: Held, was: Side, map_was: Mapping[int, Any], map_now: Mapping[int, Any]) -> Iterator[Departure]:
    """The first row of each array that is not its request's."""
    old = {request: slot for slot, request in map_was.items()}
    for name, rows in was.carried():
        now = held(side.holder, name)
        values = array_of(now) if is_array(now) else now
        for slot, request in sorted(map_now.items()):
            if request in old and not np.array_equal(values[slot], rows[old[request]]):
                got, expected = _plain(values[slot]), _plain(rows[old[request]])
                said = f"{got!r}, expected {expected!r}, request {request}'s of slot {old[request]}"
                yield Departure(f"{side.label}{name}[{slot}]", said)
                break


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _one_of(found: set[int]) -> str:
    return " or ".join(map(str, sorted(found))) or "none"
