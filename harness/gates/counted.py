"""Kernels that count which of their lines and branches run."""

from __future__ import annotations

from pathlib import Path

from opgold.harness.backends.native import Native


class Counted(Native):
    """The coverage build of an emulated target: finds what the plain build finds (docs/emulator.md)."""

    def __init__(self, target: str) -> None:
        super().__init__(target, "coverage")
        self.emulated = False  # accesses are not watched

    def library(self, op: str) -> Path:
        """The compiled op; what gcov needs to read its counts lies in a folder beside it."""
        self.prepare(op)
        return self._libraries[op]

    def notes(self, op: str) -> list[Path]:
        """The files in which the compiler noted the op's lines and branches."""
        return sorted(self.library(op).with_suffix(".units").glob("*.gcno"))
