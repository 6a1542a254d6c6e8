"""Batches whose packed rows an XPU keeps by class: those of prompt chunks, then those of decode slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from opgold.reference._contract import require, require_capacity


@dataclass(frozen=True)
class SlotClass:
    """The arrays of one class, with their host copies: which slots it has, and from which row on each of them stands.

    `slots` is the name of the argument `numbers`.
    """

    slots: str
    numbers: ndarray
    numbers_cpu: ndarray
    starts: ndarray
    starts_cpu: ndarray

    def checked(self, count: int, bound: int, bounded_by: str) -> tuple[ndarray, ndarray]:
        """Starts, int64 [count+1], and numbers, [count], of its `count` slots. Raises ValueError."""
        lod = f"{self.slots.partition('_')[0]}_seq_lod"
        starts, numbers = self.starts[: count + 1], self.numbers[:count]
        _require_twin(lod, starts, self.starts_cpu[: count + 1])
        _require_twin(self.slots, numbers, self.numbers_cpu[:count])
        first = np.arange(count + 1) == 0
        rises = np.where(first, starts == 0, starts > np.concatenate([[0], starts[:-1]]))
        require(rises, lod, starts, "0 at first, then more than its predecessor: no slot is without rows")
        require(numbers < bound, self.slots, numbers, f"below {bound}, {bounded_by}")
        require(numbers > np.concatenate([[-1], numbers[:-1]]), self.slots, numbers, "ascending slots, from 0")
        return starts.astype(np.int64), numbers


@dataclass(frozen=True)
class SlotRows:
    """The rows of one slot: the first in slot order, the first of the split batch, and how many."""

    slot: int
    prompt: bool
    ordered: int
    split: int
    count: int


def split_batch(
    tokens: int, len_info_cpu: ndarray, prompts: SlotClass, decodes: SlotClass, *, gaps: bool
) -> list[SlotRows]:
    """The slots with rows, ascending. `gaps`: their numbers are those of the batch, else ranks without gaps.

    Raises ValueError for arrays that describe no such batch, or more rows than `tokens`.
    """
    bsz = len(prompts.numbers)
    counts = len_info_cpu[:2]
    fits = (counts >= 0) & (counts.sum(dtype=np.int64) <= bsz)
    require(fits, "len_info_cpu", counts, f"a count of slots, with the other one at most {bsz}")
    prompt_count, decode_count = (int(count) for count in counts)
    bound, bounded_by = (bsz, "the slots") if gaps else (prompt_count + decode_count, "the slots with rows")
    prompt_starts, prompt_slots = prompts.checked(prompt_count, bound, bounded_by)
    decode_starts, decode_slots = decodes.checked(decode_count, bound, bounded_by)
    single = ~np.isin(decode_slots, prompt_slots)
    require(single, decodes.slots, decode_slots, f"a slot that {prompts.slots} does not list")
    prompt_rows = int(prompt_starts[-1])
    require_capacity("x", tokens, prompt_rows + int(decode_starts[-1]), "rows: those of all slots")
    return list(_in_slot_order(prompt_slots, prompt_starts, decode_slots, prompt_rows + decode_starts))


def _in_slot_order(
    prompt_slots: ndarray, prompt_starts: ndarray, decode_slots: ndarray, decode_starts: ndarray
) -> Iterator[SlotRows]:
    found = [(slot, True, start, end) for slot, start, end in _rows(prompt_slots, prompt_starts)]
    found += [(slot, False, start, end) for slot, start, end in _rows(decode_slots, decode_starts)]
    ordered = 0
    for slot, prompt, start, end in sorted(found):
        yield SlotRows(slot, prompt, ordered, start, end - start)
        ordered += end - start


def _rows(slots: ndarray, starts: ndarray) -> Iterator[tuple[int, int, int]]:
    return zip(slots.tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True)


def _require_twin(argument: str, device: ndarray, host: ndarray) -> None:
    require(host == device, f"{argument}_cpu", host, f"what {argument} holds there")
