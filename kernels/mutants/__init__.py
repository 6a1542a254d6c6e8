"""Mutants of device code: every faulty variant of a kernel in one library, switched at run time."""

from opgold.kernels.mutants.find import mutants_of
from opgold.kernels.mutants.mutant import Mutant
from opgold.kernels.mutants.switch import Switch

__all__ = ["Mutant", "Switch", "mutants_of"]
