"""Switches the mutants of a loaded library."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from opgold.kernels import runtime


class Switch:
    """Of a library of a mutants flavour; this process loads it unless it has."""

    def __init__(self, kernels: Path) -> None:
        """`kernels` is what `build.kernel_library(..., flavour="mutants")` returned."""
        runtime.library(kernels)
        library = ctypes.CDLL(str(kernels))
        self._select, self._clear = library.opgold_mutants_select, library.opgold_mutants_clear
        self.count: int = library.opgold_mutants_count()
        library.opgold_mutants_reached.restype = ctypes.POINTER(ctypes.c_ubyte)
        library.opgold_mutants_infected.restype = ctypes.POINTER(ctypes.c_ubyte)
        self._reached = np.ctypeslib.as_array(library.opgold_mutants_reached(), (self.count + 1,))
        self._infected = np.ctypeslib.as_array(library.opgold_mutants_infected(), (self.count + 1,))

    def select(self, number: int) -> None:
        """Switch a mutant on; 0 is the original. Raises ValueError for a number the library lacks."""
        if not 0 <= number <= self.count:
            raise ValueError(f"mutant {number}, expected 0 to {self.count}")
        self._select(number)

    def clear(self) -> None:
        """Forget what was reached and infected."""
        self._clear()

    def reached(self) -> np.ndarray:
        """bool [mutants]: evaluated since `clear`, while 0 was selected."""
        return self._reached[1:].astype(bool)

    def infected(self) -> np.ndarray:
        """bool [mutants]: evaluated to another value than the original; a statement's: reached."""
        return self._infected[1:].astype(bool)
