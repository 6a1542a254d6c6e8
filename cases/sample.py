"""What a strategy draws: the inputs of one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sample:
    """Inputs by argument name, and sizes that no input binds where they differ from the op's natural ones."""

    inputs: Mapping[str, Any]  # arrays, scalars, None: the signature checks them
    sizes: Mapping[str, int] = field(default_factory=dict)
