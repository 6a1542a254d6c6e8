"""Preconditions on the cache blocks of slots: their rows of the block table, and the stack of free ids."""

from __future__ import annotations

import numpy as np

from opgold.reference._contract import require, require_capacity


def own_blocks(block_tables: np.ndarray, first: np.ndarray, used: np.ndarray) -> list[np.ndarray]:
    """Each slot's own ids, copied: `used` of them from column `first` on. Raises ValueError outside its row."""
    width = block_tables.shape[1]
    require(used >= 0, "used_list_len", used, "at least 0")
    require((used == 0) | ((first >= 0) & (first <= width)), "encoder_block_lens", first, f"0 to {width}, the columns")
    fits = (used == 0) | (first.astype(np.int64) + used <= width)
    require(fits, "used_list_len", used, f"at most the {width} columns, less those of encoder_block_lens")
    return [
        row[e : e + count].copy() if count else row[:0] for row, e, count in zip(block_tables, first, used, strict=True)
    ]


def require_conserved(free_list: np.ndarray, free_list_len: np.ndarray, own: list[np.ndarray]) -> None:
    """Free and own ids are no less than 0, stand once each, and all fit on the stack."""
    length, capacity = int(free_list_len[0]), len(free_list)
    require((free_list_len >= 0) & (free_list_len <= capacity), "free_list_len", free_list_len, f"0 to {capacity}")
    ids = np.concatenate([free_list[:length], *own])
    require_capacity("free_list", capacity, len(ids), "entries: free blocks and those of all slots")
    found, counts = np.unique(ids, return_counts=True)
    for b, blocks in [("free_list", free_list[:length]), *((f"block_tables[{b}]", own[b]) for b in range(len(own)))]:
        wrong = np.flatnonzero((blocks < 0) | (counts[np.searchsorted(found, blocks)] > 1))
        if len(wrong):
            raise ValueError(
                f"{b}: own or free block {wrong[0]} is {blocks[wrong[0]]}, expected an id that stands once"
            )


def require_attributes(block_size: int, max_draft_tokens: int) -> None:
    """Both fit int32."""
    if not 1 <= block_size < 2**31:
        raise ValueError(f"block_size: {block_size}, expected 1 to 2^31-1")
    if not 0 <= max_draft_tokens < 2**31:
        raise ValueError(f"max_draft_tokens: {max_draft_tokens}, expected 0 to 2^31-1")
