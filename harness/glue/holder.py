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


def names_of(holder: Holder) -> list[str]:
    """The names of all that it holds."""
    return list(holder) if isinstance(holder, Mapping) else list(vars(holder))


def is_array(value: Any) -> bool:
    """Whether it is a tensor or an array."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def address_of(value: Any) -> int:
    """Where an array's or a tensor's content begins."""
    return int(value.ctypes.data if isinstance(value, np.ndarray) else value.data_ptr())


def share_memory(first: Any, second: Any) -> bool:
    """Whether two arrays or two tensors lie in the same memory."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and np.shares_memory(first, second)
    return bool(first.size and second.size and first._is_shared_buffer_with(second))
