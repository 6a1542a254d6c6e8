"""The catalogue of sizes and values at which kernels go wrong."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

WARP = (31, 32, 33)
BLOCK = (127, 128, 129)
LIMITS = (511, 512, 513, 1023, 1024, 1025)
SIZES = (1, 2, *WARP, *BLOCK, 255, 256, 257, *LIMITS)

INT32 = (-(2**31), -1, 2**31 - 1)


def sizes(smallest: int, largest: int, *, usual: int = 6) -> st.SearchStrategy[int]:
    """A size: mostly at most `usual`, sometimes one of the catalogue; between `smallest` and `largest`."""
    edges = [size for size in SIZES if smallest <= size <= largest]
    small = st.integers(smallest, max(smallest, min(usual, largest)))
    return st.one_of(small, small, st.sampled_from(edges)) if edges else small


def out_of_range(count: int) -> st.SearchStrategy[int]:
    """An index that `count` rows do not have: one past either end, far off, or an int32 limit."""
    return st.sampled_from([-1, -2, count, count + 1, count + 1000, *INT32[::2]])


def seeds() -> st.SearchStrategy[np.random.Generator]:
    """A generator for payloads. Only its seed is drawn, so that shrinking has nothing to do in the payload."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)
