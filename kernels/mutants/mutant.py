"""What is known of one mutant."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """One changed place of device code. `line` and `column` count from 1 in the original file."""

    file: Path
    line: int
    column: int
    operator: str
    before: str  # the smallest changed expression or statement
    after: str
    hint: str  # which input would tell it from the original, in terms of the source
