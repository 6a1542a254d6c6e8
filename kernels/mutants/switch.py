"""Switches the mutants of a loaded library."""

from __future__ import annotations

from pathlib import Path

import numpy as np


class Switch:
    """Of a library of a mutants flavour, which this process has loaded or loads now."""

    def __init__(self, kernels: Path) -> None:
        """`kernels` is what `build.kernel_library(..., flavour="mutants")` returned."""
        raise NotImplementedError

    def select(self, number: int) -> None:
        """Switch a mutant on; 0 is the original. Raises ValueError for a number the library lacks."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forget what was reached and infected."""
        raise NotImplementedError

    def reached(self) -> np.ndarray:
        """bool [mutants]: evaluated since `clear`, while 0 was selected."""
        raise NotImplementedError

    def infected(self) -> np.ndarray:
        """bool [mutants]: evaluated to another value than the original; a statement's: reached."""
        raise NotImplementedError
