"""Payloads whose rows can be told apart, from a drawn generator."""

from __future__ import annotations

import numpy as np

from opgold.reference.schema import as_dtype


def token_ids(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Token ids, int64, no two alike, at least 3: never the filler 2."""
    count = int(np.prod(shape))
    return (rng.permutation(count) + 3 + int(rng.integers(0, 100_000))).astype(np.int64).reshape(shape)


def hidden(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Finite values of random bits: a copy of the wrong row, or of half an element, shows."""
    target = as_dtype(dtype)
    values = rng.integers(0, 256, (*shape, target.itemsize), np.uint8).view(target)[..., 0]
    return np.where(np.isfinite(values.astype(np.float32)), values, target.type(1))
