"""Do seeds advance once a step, in place, by as much as keeps steps apart?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opgold.harness.glue.departure import Departure, indexed
from opgold.harness.glue.holder import Holder, array_of, held
from opgold.reference.glue import seeds


def check_seeds(
    step: Callable[[], Any],
    batch: Holder,
    live: Iterable[int],
    increment: int,
    modulus: int,
    *,
    steps: int = 3,
    name: str = "infer_seed",
    aliases: Sequence[tuple[Holder, str]] = (),
) -> list[Departure]:
    """Run `step` some times: the seed of each live slot must advance by `increment`, once, and all others stay.

    `aliases` are other holders, and their names, of the same tensor, as the proposer's. A dummy run must leave all
    seeds: give it an `increment` of 0. Raises ValueError for a seed outside 0 .. modulus - 1 before the first step.
    """
    live = set(live)
    seeds_of = held(batch, name)
    found: list[Departure] = []
    before = [int(seed) for seed in array_of(seeds_of).ravel()]
    for number in range(1, steps + 1):
        want = [seeds.advanced(s, increment, modulus) if slot in live else s for slot, s in enumerate(before)]
        step()
        after = [int(seed) for seed in array_of(held(batch, name)).ravel()]
        for slot, (old, new, expected) in enumerate(zip(before, after, want, strict=True)):
            if new != expected:
                said = f"{new} after step {number}, expected {expected}{_times(old, new, increment, modulus)}"
                found.append(Departure(indexed(name, [slot]), said))
        if held(batch, name) is not seeds_of:
            found.append(Departure(name, f"the name stands for another tensor after step {number}"))
        found += [
            Departure(other, f"is another tensor than {name} after step {number}")
            for holder, other in aliases
            if held(holder, other) is not held(batch, name)
        ]
        if found:
            return found
        before = after
    return found


def check_increment(
    increment: int, num_speculative_tokens: int, method: str | None, role: str = "mixed"
) -> list[Departure]:
    """Is this by how much seeds advance in a step, and does it keep the rows of consecutive steps apart?"""
    want = seeds.increment(num_speculative_tokens, method, role)
    found = [Departure("increment", f"{increment}, expected {want}")] if increment != want else []
    rows = want // seeds.ROW_INCREMENT
    if seeds.seeds_repeat(rows, increment):
        drawn = {seed for step in range(4) for seed in seeds.row_seeds(step * increment, rows, 2**31)}
        found.append(Departure("seeds", f"4 steps of {rows} rows draw {len(drawn)} of {4 * rows} different ones"))
    return found


def check_seed_range(values: Any, vendor: str, name: str = "infer_seed") -> list[Departure]:
    """Are all seeds, those that dummy runs draw, too, within the range of the vendor's op?"""
    most = seeds.MAX_INFER_SEED[vendor]
    array = array_of(values)
    wrong = np.argwhere((array < 0) | (array >= most))
    return [
        Departure(indexed(name, tuple(map(int, place))), f"{array[tuple(place)]}, expected 0 to {most - 1}")
        for place in wrong[:1]
    ]


def _times(old: int, new: int, increment: int, modulus: int) -> str:
    """How often it advanced, if that is what went wrong."""
    if increment == 0:
        return ": it must not advance"
    times = [count for count in (0, 2, 3, 4) if (old + count * increment) % modulus == new]
    return f": it advanced {times[0]} times" if times else ""
