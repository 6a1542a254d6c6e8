"""What the two n-gram drafting ops share: the search for drafts in what a slot has seen, and the token budget."""

from __future__ import annotations

import numpy as np


def found_drafts(
    haystacks: tuple[np.ndarray, np.ndarray], pattern: np.ndarray, wanted: int, longest: int, shortest: int
) -> np.ndarray:
    """At most `wanted` tokens that follow an earlier occurrence of the end of `pattern`.

    Longest end first, in the haystacks in turn, the leftmost occurrence; one without a successor does not count.
    """
    for size in range(min(longest, len(pattern)), shortest - 1, -1):
        needle = pattern[len(pattern) - size :]
        for haystack in haystacks:
            if wanted <= 0 or len(haystack) <= size:
                continue
            windows = np.lib.stride_tricks.sliding_window_view(haystack[:-1], size)
            hits = np.flatnonzero((windows == needle).all(axis=1))
            if hits.size:
                start = hits[0] + size
                return haystack[start : start + wanted]
    return pattern[:0]


def granted(bases: list[int], found: list[int], cut: list[bool], threshold: int) -> list[int]:
    """How many found drafts each slot may keep.

    Slot b wishes for its base and what it found. Its budget is `threshold` less the wishes of the slots before it and
    less one token for each slot with tokens (a base above 0) behind it. Drafts are kept within the budget, in slots
    that may be `cut`; the base always stands.
    """
    keeps, spent, behind = [], 0, sum(base > 0 for base in bases)
    for base, drafts, may_cut in zip(bases, found, cut, strict=True):
        behind -= base > 0
        budget = threshold - spent - behind
        keeps.append(max(0, min(drafts, budget - base)) if may_cut else 0)
        spent += base + drafts
    return keeps
