"""What every backend answers: whether it can be used, which ops it has, and what one call does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opgold.kernels.compilers import BuildError
from opgold.kernels.report import Report
from opgold.reference.schema import VENDORS, Signature, Value

if TYPE_CHECKING:
    from opgold.harness.case import Case
    from opgold.harness.runner import Golden


class UnknownBackend(ValueError):
    """A name that no backend has."""


class Unprepared(RuntimeError):
    """Why an op that a backend has cannot be called there."""


NO_CALL = (BuildError, Unprepared)  # what `prepare` raises


@dataclass(frozen=True)
class Variant:
    """How one run of a case is varied: order of threads and blocks, alignment of buffers, poison of outputs.

    On an emulated XPU also the grid that launchers find (0: the emulator's own), and when transfers are made. `told`
    says in words how a call was made that nobody varied.
    """

    schedule: str = "ascending"
    shift: int = 0
    poison: int = 0
    seed: int = 0
    clusters: int = 0
    cores: int = 0
    copies: str = "late"
    told: str = ""

    def __str__(self) -> str:
        if self.told:
            return self.told
        shifted = f", bases shifted by {self.shift} elements" if self.shift else ""
        grid = f", {self.clusters} x {self.cores} cores, {self.copies} copies" if self.clusters else ""
        return f"{self.schedule} order{grid}{shifted}, poison {'AB'[self.poison]}"


class Backend(ABC):
    """Runs calls of ops. `name` is what `--backend` takes; `emulated` tells whether every access is watched, `grids`
    whether launchers are to be tried on several grids, `allocates` whether calls make their own outputs, so that
    nothing can be said of elements that no model specifies, `hostile` whether it is safe to call with inputs that break
    the contract, `sequences` whether whole rounds can be played. `vendors` are those whose ops it may have; `variants`
    the only runs that can be had, if there is no choice."""

    name: str
    emulated: bool = False
    grids: bool = False
    allocates: bool = False
    hostile: bool = True
    sequences: bool = True
    vendors: tuple[str, ...] = VENDORS
    variants: tuple[Variant, ...] = ()

    @abstractmethod
    def unavailable(self) -> str:
        """Why it cannot be used on this machine; empty if it can."""

    @abstractmethod
    def has(self, op: str) -> bool:
        """Whether it has the op."""

    @abstractmethod
    def prepare(self, op: str) -> None:
        """Build what calls of `op` need. Raises BuildError with the compiler's words, or Unprepared."""

    def takes(self, case: Case) -> Case | None:
        """The case as it can be called here, or None. Where it is another one, the model must take that, too."""
        return case if self.hostile or case.refused is None else None

    def specified(self, case: Case, golden: Golden) -> dict[str, np.ndarray]:
        """Which elements of the golden model's result calls here are held to: those that the model specifies."""
        return golden.defined

    @abstractmethod
    def call(self, signature: Signature, values: Mapping[str, Value], variant: Variant) -> Report:
        """Call the op. `values` holds every argument and attribute; written arrays are updated in place.

        The report's `addresses` tell where each argument lay after the call.
        """


def tensors_of(signature: Signature, values: Mapping[str, Value]) -> list[tuple[str, np.ndarray | None, str]]:
    """The arrays of a call in the order in which launchers take them, with their directions."""
    tensors = []
    for argument in signature.arguments:
        value = values[argument.name]
        assert value is None or isinstance(value, np.ndarray)
        tensors.append((argument.name, value, argument.direction.value))
    return tensors


def attributes_of(signature: Signature, values: Mapping[str, Value]) -> list[tuple[str, bool | int | float]]:
    """The attributes of a call in the order in which launchers take them."""
    attributes = []
    for attribute in signature.attributes:
        value = values[attribute.name]
        assert isinstance(value, bool | int | float)
        attributes.append((attribute.name, value))
    return attributes
