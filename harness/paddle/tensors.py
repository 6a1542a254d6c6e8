"""NumPy arrays as Paddle tensors, and back."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np

from opgold.harness import devices

MISSING = "Paddle is not installed (pip install 'opgold[paddle]')"


def unavailable() -> str:
    """Why there are no Paddle tensors here; empty if there are."""
    devices.narrow_worker()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tools that only Paddle's own builds use
            import paddle  # noqa: F401
    except ImportError as error:
        return MISSING if error.name == "paddle" else f"Paddle cannot be imported: {error}"
    return ""


def to_tensor(array: np.ndarray, *, host: bool = False, column: bool = False) -> Any:
    """A tensor of its own with the array's content; `column` adds a last dimension of 1, `host` keeps it on the CPU."""
    import paddle

    shape = (*array.shape, 1) if column else array.shape
    raw = array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array  # Paddle's NumPy form of bfloat16
    return paddle.to_tensor(raw.reshape(shape), place=paddle.CPUPlace() if host else None)


def dtype_name(tensor: Any) -> str:
    """Its dtype by the name that NumPy and ml_dtypes give it."""
    return str(tensor.dtype).removeprefix("paddle.")


def to_array(tensor: Any) -> np.ndarray:
    """A copy of a tensor's content."""
    array: np.ndarray = np.array(tensor.numpy(), order="C")
    return array.view(ml_dtypes.bfloat16) if dtype_name(tensor) == "bfloat16" else array
