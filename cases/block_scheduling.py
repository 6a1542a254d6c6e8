"""What the inputs of the two ops that pause and resume decoding have in common: lengths at the edges of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.relations import Arrays


@st.composite
def tables(draw: st.DrawFn, rng: np.random.Generator, slots: int) -> dict[str, Any]:
    """Block tables, [slots, columns], without holes and with all block ids different, and the op's attributes."""
    columns = draw(edges.sizes(1, 40, usual=6))
    table = rng.permutation(slots * columns).astype(np.int32).reshape(slots, columns)
    table[np.arange(columns) >= rng.integers(1, columns + 1, slots)[:, None]] = -1
    size = draw(st.sampled_from([1, 2, 3, 4, 16, 64, 2**20]))
    drafts = draw(st.sampled_from([0, 1, 2, 5, 6, 7, size, 2 * size]))
    return {"block_tables": table, "block_size": size, "max_draft_tokens": drafts}


def ahead(inputs: Arrays) -> int:
    return 2 * int(inputs["max_draft_tokens"]) + 2


def own_tokens(inputs: Arrays) -> np.ndarray:
    """Tokens that each slot's blocks hold, [slots]."""
    return np.asarray((np.asarray(inputs["block_tables"]) >= 0).sum(axis=1) * int(inputs["block_size"]))


def cached_lengths(inputs: Arrays, rng: np.random.Generator) -> np.ndarray:
    """Lengths with which the look-ahead ends just inside or outside a slot's blocks, its table's row, or anywhere."""
    own = own_tokens(inputs)
    row = np.asarray(inputs["block_tables"]).shape[1] * int(inputs["block_size"])
    edge = np.where(rng.random(len(own)) < 0.7, own, row) - ahead(inputs) + rng.integers(-2, 3, len(own))
    return np.clip(np.where(rng.random(len(own)) < 0.7, edge, rng.integers(0, row + 9, len(own))), 0, 2**31 - 1)


def missing(inputs: Arrays, lengths: np.ndarray) -> np.ndarray:
    """Whether a slot's look-ahead block exists in its row and is not its own, by counting the slot's blocks."""
    size, table = int(inputs["block_size"]), np.asarray(inputs["block_tables"])
    end = lengths.astype(np.int64) + ahead(inputs)
    return np.asarray((end >= own_tokens(inputs)[: len(end)]) & (end < table.shape[1] * size))


def attribute_faults() -> list[tuple[np.ndarray, Any]]:
    once = np.ones(1, bool)
    found = [(once, lambda _, v=v: {"block_size": v}) for v in (0, -1, 2**31)]
    return found + [(once, lambda _, v=v: {"max_draft_tokens": v}) for v in (-1, 2**30, 2**31 - 1)]
