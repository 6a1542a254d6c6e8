"""Does an insertion write what a slot must hold, and nothing into the others?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opgold.harness.glue.departure import Departure
from opgold.harness.glue.holder import array_of, held, is_array
from opgold.harness.glue.snapshot import Held, Snapshot
from opgold.reference.glue.groups import Batch


def check_insertion(
    insert: Callable[[], Any], golden: Callable[[Batch, int], set[str]], slot: int, side: Held
) -> list[Departure]:
    """Call `insert`, which inserts into `slot`, and hold the batch to `golden(batch, slot)`, one of
    `opgold.reference.glue.insertion` with its arguments bound.

    What that writes must be there. Of other carried arrays the slot's row may be anything; rows of other slots, and
    what is not carried, must be as they were. Raises ValueError for what the golden model refuses.
    """
    want = Snapshot([side])
    batch = want.sides[0].batch
    written = golden(batch, slot)
    try:
        insert()
    except Exception as error:  # whatever it raises
        return [Departure("insert", f"raises {type(error).__name__}: {error}")]
    found = list(want.moved())
    for name, expected in batch.items():
        now = held(side.holder, name)
        free = name not in written and name in side.groups.carried | set(side.groups.views)
        if free and len(now) == len(expected) > slot:
            expected[slot] = array_of(now)[slot] if is_array(now) else now[slot]
        if name != side.groups.slot_map:
            found += want.departures(0, name, expected, f"slot {slot} is inserted")
    return found
