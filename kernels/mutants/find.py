"""The mutants of a kernel: of its unit and of the project's headers that it includes."""

from __future__ import annotations

from pathlib import Path

from opgold.kernels.mutants.mutant import Mutant


def mutants_of(source: Path, vendor: str) -> tuple[Mutant, ...]:
    """In a stable order: number i + 1 switches mutant i on. `vendor` is "cuda" or "xpu"."""
    raise NotImplementedError
