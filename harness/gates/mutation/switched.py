"""Kernels that hold all their mutants."""

from __future__ import annotations

from opgold.harness.backends.native import Native
from opgold.kernels.mutants import Switch

FLAVOURS = {False: "mutants", True: "mutants-checked"}


class Switched(Native):
    """The mutants build of an emulated target; `checked` watches every access."""

    def __init__(self, target: str, *, checked: bool) -> None:
        super().__init__(target, FLAVOURS[checked])

    def switch(self, op: str) -> Switch:
        """What switches the mutants of an op. Raises BuildError."""
        self.prepare(op)
        return Switch(self._libraries[op])
