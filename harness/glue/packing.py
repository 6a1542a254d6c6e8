"""Do a step's packing, the buffers that it fills, and the lengths that a draft substep keeps, hold what they must?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from opgold.harness.glue.departure import Departure, differing
from opgold.harness.glue.holder import Holder, array_of, has, held
from opgold.reference.glue.packing import FILLS, PACKINGS, Packing, PreProcessed, pre_process


def check_pre_process(results: Sequence[Any], *arguments: Any) -> list[Departure]:
    """Are these the seven results of `pre_process` for its arguments, in their order? Raises ValueError for arguments
    that the golden model refuses.

    Behind the last output row the slots of output rows may be anything here: the op leaves them open.
    """
    if len(results) != len(PreProcessed._fields):
        return [Departure("pre_process", f"{len(results)} results, expected {len(PreProcessed._fields)}")]
    want = pre_process(*_plain(arguments))
    found: list[Departure] = []
    for name, got, expected in zip(PreProcessed._fields, results, want, strict=True):
        if expected is None or got is None:
            if expected is not None or got is not None:
                said = "None, expected a tensor" if got is None else "a tensor, expected None: the step has no drafts"
                found.append(Departure(name, said))
            continue
        values = array_of(got)
        given = slice(None)
        if name == "batch_id_per_token_output" and want.real_output_token_num is not None:
            given = slice(int(want.real_output_token_num[0]))
        found += differing(name, values[given], expected[given])
    return found


def check_buffers(batch: Holder, *arguments: Any) -> list[Departure]:
    """Do the batch's buffers, of full size, hold the results of `pre_process` for these arguments, and behind them what
    a graph may read: ids that are none below 0, slots of -1, and prefix sums that stay?

    Raises ValueError for arguments that the golden model refuses.
    """
    results = pre_process(*_plain(arguments))
    found: list[Departure] = []
    for name, fill in FILLS.items():
        want = getattr(results, name)
        if want is None or not has(batch, name):
            continue
        got = array_of(held(batch, name)).ravel()
        if len(got) < len(want):
            found.append(Departure(name, f"{len(got)} elements, expected at least {len(want)}"))
            continue
        found += differing(name, got[: len(want)], want)
        tail, expected = got[len(want) :], want[-1] if fill is None else fill
        wrong = np.flatnonzero(tail < 0 if name == "ids_remove_padding" else tail != expected)
        if wrong.size:
            index = len(want) + int(wrong[0])
            said = "a token id" if name == "ids_remove_padding" else expected
            found.append(Departure(f"{name}[{index}]", f"{got[index]}, expected {said} behind the step"))
    return found


def check_packings(batch: Holder, packings: Iterable[Packing] = PACKINGS) -> list[Departure]:
    """Do prefix sums, the slots of rows and their number follow from the lengths?"""
    return [departure for packing in packings for departure in unpaired(batch, packing)]


def unpaired(batch: Holder, packing: Packing) -> Iterator[Departure]:
    """What does not follow from the lengths of one packing."""
    names = (packing.lengths, packing.sums, packing.ids, packing.count, packing.encoder)
    arrays = {name: array_of(held(batch, name)) for name in names if name is not None}
    try:
        want = packing.packed(arrays)
    except ValueError as error:
        yield Departure(packing.sums, f"does not hold what the lengths ask for: {error}")
        return
    for name, expected in want.items():
        yield from differing(name, arrays[name], expected, f"from {packing.lengths}")


def check_last_lengths(
    substeps: Callable[[Callable[[Any], None]], Any], lengths: Sequence[Sequence[int]]
) -> list[Departure]:
    """Does each substep of the draft give `eagle_get_self_hidden_states` the lengths with which it ran?

    `substeps` runs a round and calls what it is given with the `last_seq_lens_this_time` of each substep, at the moment
    at which the op takes it; `lengths` has those with which the substeps run. More than one model step is assumed.
    """
    seen: list[np.ndarray] = []
    substeps(lambda last: seen.append(array_of(last).ravel()))
    found = []
    if len(seen) != len(lengths):
        found.append(Departure("last_seq_lens_this_time", f"taken {len(seen)} times, expected {len(lengths)}"))
    for substep, (got, want) in enumerate(zip(seen, lengths, strict=False)):
        found += differing(f"last_seq_lens_this_time of substep {substep}", got[: len(want)], np.array(want))
    return found


PER_SLOT = (2, 5, 6)  # arguments of pre_process that may be [slots, 1]


def _plain(arguments: Sequence[Any]) -> list[Any]:
    found = [array_of(value) if hasattr(value, "shape") else value for value in arguments]
    return [v.ravel() if place in PER_SLOT and v is not None else v for place, v in enumerate(found)]
