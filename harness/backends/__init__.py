"""Backends: where the kernels of an op run. One module each; `get` finds them by name."""

from __future__ import annotations

from functools import cache

from opgold.harness.backends.base import Backend, UnknownBackend
from opgold.harness.backends.isolated import Isolated
from opgold.harness.backends.native import Native

__all__ = ["DEFAULT", "NAMES", "Backend", "Isolated", "Native", "UnknownBackend", "get", "named"]

NAMES = ("cuda-emu", "xpu-emu", "cuda", "xpu", "paddle")
MODULE = "module:"  # and a module's name
RECORDED = "recorded:"  # and a folder
DEFAULT = ("cuda-emu", "xpu-emu")  # what needs no device


@cache
def get(name: str) -> Backend:
    """The backend of a name. Raises UnknownBackend."""
    if name in ("cuda-emu", "xpu-emu"):
        return Native(name, "checked")
    if name in ("cuda", "xpu"):
        return Isolated(name)
    if name == "paddle":
        from opgold.harness.backends.paddle import Paddle

        return Paddle()
    if name.startswith(MODULE):
        from opgold.harness.backends.apart import Apart

        return Apart(name)
    if name.startswith(RECORDED):
        from opgold.harness.record.folder import Recorded

        return Recorded(name)
    raise UnknownBackend(f"no backend {name!r}; there are {', '.join(NAMES)}, {MODULE}NAME and {RECORDED}FOLDER")


def named(name: str) -> bool:
    """Whether there is a backend of that name."""
    return name in NAMES or name.startswith((MODULE, RECORDED))
