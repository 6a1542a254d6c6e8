"""Buffers by name, in a mapping or an object, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opgold.harness.paddle.tensors import to_array

Holder = Mapping[str, Any] | object


def held(holder: Holder, name: str) -> Any:
    """What stands under the name. Raises KeyError or AttributeError as the holder does."""
    return holder[name] if isinstance(holder, Mapping) else getattr(holder, name)


def has(holder: Holder, name: str) -> bool:
    """Whether there is a buffer of that name; None is none."""
    found = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    return found is not None


def array_of(value: Any) -> np.ndarray:
    """A copy of the content of a tensor, an array or a list."""
    return to_array(value) if hasattr(value, "numpy") else np.array(value)
