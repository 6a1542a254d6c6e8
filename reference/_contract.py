"""What several golden models share: the prefix sum, and preconditions.

A precondition raises ValueError naming argument, index, value and expectation.
"""

from __future__ import annotations

import numpy as np


def prefix_sum(lengths: np.ndarray) -> np.ndarray:
    """int64 [n+1], element 0 is 0."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def require(holds: np.ndarray, argument: str, values: np.ndarray, expected: str) -> None:
    """Raise for the first element of `values` where `holds` is false."""
    if np.all(holds):
        return
    index = tuple(int(i) for i in np.argwhere(~holds)[0])
    raise ValueError(f"{argument}[{', '.join(map(str, index))}] is {values[index]}, expected {expected}")


def require_lengths(**lengths: np.ndarray) -> None:
    """Lengths, in tokens, are not negative."""
    for argument, values in lengths.items():
        require(values >= 0, argument, values, "a length of at least 0")


def require_prefix_sum(argument: str, values: np.ndarray, lengths: np.ndarray, summed: str) -> None:
    """`values` is the prefix sum of `lengths` with element 0 included."""
    expected = prefix_sum(lengths)
    wrong = np.flatnonzero(values != expected)
    if wrong.size:
        index = int(wrong[0])
        raise ValueError(
            f"{argument}[{index}] is {values[index]}, expected {expected[index]}, the sum of {summed}[:{index}]"
        )


def require_no_ghost(this: np.ndarray, enc: np.ndarray, dec: np.ndarray, this_name: str = "seq_lens_this_time") -> None:
    """No slot runs tokens without an encoder or a decoder length."""
    require(
        (this == 0) | (enc > 0) | (dec > 0),
        this_name,
        this,
        "0: the slot has neither encoder nor decoder length (a ghost)",
    )


def require_tokens_fit(
    argument: str, this: np.ndarray, from_draft: np.ndarray, draft_tokens: np.ndarray | None, input_ids: np.ndarray
) -> None:
    """Every slot's tokens lie inside the row that they are taken from."""
    drafts = 0 if draft_tokens is None else draft_tokens.shape[1]
    require(~from_draft | (this <= drafts), argument, this, f"at most the {drafts} columns of draft_tokens")
    width = input_ids.shape[1]
    require(from_draft | (this <= width), argument, this, f"at most the {width} columns of input_ids")


def require_capacity(argument: str, capacity: int, need: int, counted: str) -> None:
    """`capacity` rows hold the `need`, which is what `counted` says."""
    if capacity < need:
        raise ValueError(f"{argument}: {capacity}, expected at least {need}, {counted}")


def require_padded_length(argument: str, length: int, bsz: int) -> None:
    """The places in a batch padded to `length` rows a slot fit int32."""
    limit = (2**31 - 1) // max(1, bsz)
    if not 1 <= length <= limit:
        raise ValueError(f"{argument}: {length}, expected 1 to {limit} for {bsz} slots")


def require_row_sums(argument: str, sums: np.ndarray, rows: int, held_by: str) -> None:
    """`sums` starts at 0 and never falls; the `rows` of `held_by` hold what it ends with."""
    before = np.concatenate([[0], sums[:-1]])
    rises = np.where(np.arange(len(sums)) == 0, sums == 0, sums >= before)
    require(rises, argument, sums, "at least its predecessor, and 0 at first")
    require(sums <= rows, argument, sums, f"at most {rows}, {held_by}")


def require_slots(bsz: int, **rows: np.ndarray) -> None:
    """Arrays of all slots have a row for each of the `bsz` slots of this step."""
    for argument, values in rows.items():
        require_capacity(argument, len(values), bsz, "rows: the slots of seq_lens_this_time")


def require_sums(argument: str, values: np.ndarray, lengths: np.ndarray, summed: str) -> None:
    """`values` begins with the prefix sum of `lengths`, element 0 included; what stands behind is not looked at."""
    require_capacity(argument, len(values), len(lengths) + 1, "entries: the slots of seq_lens_this_time, and 1")
    require_prefix_sum(argument, values[: len(lengths) + 1], lengths, summed)
