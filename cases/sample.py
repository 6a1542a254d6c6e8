"""What a strategy draws: the inputs of one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opgold.reference.schema import Value


@dataclass(frozen=True)
class Sample:
    """Inputs by argument name, and sizes that no input binds where they differ from the op's natural ones."""

    inputs: Mapping[str, Value]
    sizes: Mapping[str, int] = field(default_factory=dict)
