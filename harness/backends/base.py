"""What every backend answers: whether it can be used, which ops it has, and what one call does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from opgold.kernels.report import Report
from opgold.reference.schema import Signature, Value


class UnknownBackend(ValueError):
    """A name that no backend has."""


@dataclass(frozen=True)
class Variant:
    """How one run of a case is varied: order of threads and blocks, alignment of buffers, poison of outputs.

    On an emulated XPU also the grid that launchers find (0: the emulator's own), and when transfers are made.
    """

    schedule: str = "ascending"
    shift: int = 0
    poison: int = 0
    seed: int = 0
    clusters: int = 0
    cores: int = 0
    copies: str = "late"

    def __str__(self) -> str:
        shifted = f", bases shifted by {self.shift} elements" if self.shift else ""
        grid = f", {self.clusters} x {self.cores} cores, {self.copies} copies" if self.clusters else ""
        return f"{self.schedule} order{grid}{shifted}, poison {'AB'[self.poison]}"


class Backend(ABC):
    """Runs calls of ops. `name` is what `--backend` takes; `emulated` tells whether every access is watched, `grids`
    whether launchers are to be tried on several grids."""

    name: str
    emulated: bool = False
    grids: bool = False

    @abstractmethod
    def unavailable(self) -> str:
        """Why it cannot be used on this machine; empty if it can."""

    @abstractmethod
    def has(self, op: str) -> bool:
        """Whether it has the op."""

    @abstractmethod
    def prepare(self, op: str) -> None:
        """Build what calls of `op` need. Raises BuildError with the compiler's words."""

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
