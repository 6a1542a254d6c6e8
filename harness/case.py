"""One case: an op, its inputs, and, where a person worked them out, the values that it must give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from opgold.cases.sample import Sample
from opgold.reference.schema import Signature, Value, load


@dataclass(frozen=True)
class Expected:
    """Literal values of one written argument: of all its elements, or of those at `at`."""

    values: np.ndarray
    at: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class Case:
    """`refused` is a text that the golden model's refusal must contain: then the inputs are hostile."""

    op: str
    inputs: Mapping[str, Value]
    sizes: Mapping[str, int] = field(default_factory=dict)
    why: str = ""
    expect: Mapping[str, Expected] = field(default_factory=dict)
    refused: str | None = None
    relations: bool = True
    path: Path | None = None

    @property
    def signature(self) -> Signature:
        return load(self.op)

    @property
    def name(self) -> str:
        return self.path.stem if self.path else "generated"

    @classmethod
    def of(cls, op: str, sample: Sample, *, hostile: bool = False) -> Case:
        """A generated case. A hostile one must be refused, in whatever words."""
        return cls(op, sample.inputs, sample.sizes, refused="" if hostile else None)
