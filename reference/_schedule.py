"""What the ops that pause and resume decoding for lack of cache blocks agree upon."""

from __future__ import annotations

import numpy as np

from opgold.reference._contract import require

MOST_DRAFTS = 2**30 - 1  # so that a length and its look-ahead fit 32 bits


def require_attributes(block_size: int, max_draft_tokens: int) -> None:
    if not 1 <= block_size < 2**31:
        raise ValueError(f"block_size: {block_size}, expected 1 to 2^31-1")
    if not 0 <= max_draft_tokens <= MOST_DRAFTS:
        raise ValueError(f"max_draft_tokens: {max_draft_tokens}, expected 0 to 2^30-1")


def look_ahead_column(lengths: np.ndarray, block_size: int, max_draft_tokens: int) -> np.ndarray:
    """Column of the block that the next two rounds of drafts may reach, int64 [bsz]."""
    column: np.ndarray = (lengths.astype(np.int64) + 2 * max_draft_tokens + 2) // block_size
    return column


def unallocated(block_tables: np.ndarray, slots: np.ndarray, column: np.ndarray) -> np.ndarray:
    """In which of `slots` the table's `column` exists and holds no block, bool [bsz].

    Raises ValueError for an id below -1 there.
    """
    rows = np.flatnonzero(slots & (column < block_tables.shape[1]))
    looked_at = np.zeros(block_tables.shape, bool)
    looked_at[rows, column[rows]] = True
    require(~looked_at | (block_tables >= -1), "block_tables", block_tables, "a block id, or -1")
    missing = np.zeros(len(slots), bool)
    missing[rows] = block_tables[rows, column[rows]] == -1
    return missing
