"""The ops as FastDeploy calls them, on Paddle tensors: `opgold.paddle.rebuild_padding(...)`; docs/paddle.md.

Each op has FastDeploy's name, and opgold's where FastDeploy has several versions of one name. Kernels are compiled when
they are first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opgold.harness.paddle import functions, operators
from opgold.harness.paddle.operators import KernelFault
from opgold.kernels.report import Report

__all__ = ["KernelFault", "last_report", "load"]


def load(*names: str) -> None:
    """Register the operators with Paddle, and compile the kernels of these ops, or of all. Raises BuildError."""
    for name in names or functions.names():
        operators.registered().bind(functions.names()[name])


def last_report() -> Report | None:
    """What the emulator reported of the last call; None before the first, and of calls on a device."""
    return operators.registered().report


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in functions.names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return functions.function(functions.names()[name])


def __dir__() -> list[str]:
    return sorted({*__all__, *functions.names()})
