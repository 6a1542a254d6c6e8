"""How often drafts were accepted: cases in which they hardly ever are put little of verification to the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Acceptance:
    """Decoding slots with drafts, counted by (drafts, of them accepted)."""

    counts: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, slots: Iterable[tuple[int, int]]) -> None:
        """Count slots, each given as (drafts, of them accepted)."""
        self.counts.update(slots)

    def __iadd__(self, other: Acceptance) -> Acceptance:
        self.counts += other.counts
        return self

    @property
    def slots(self) -> int:
        return self.counts.total()

    @property
    def fractions(self) -> dict[str, float]:
        """Of all slots those whose drafts were accepted not at all, in part, and whole; 0 to 1, zeros without slots."""
        found = dict.fromkeys(("none", "some", "all"), 0)
        for (drafts, accepted), count in self.counts.items():
            found["none" if accepted <= 0 else "all" if accepted >= drafts else "some"] += count
        return {name: count / max(1, self.slots) for name, count in found.items()}

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {100 * fraction:.0f} %" for name, fraction in self.fractions.items())
        return f"{self.slots:,} slots with drafts, accepted: {shares}"

    def as_json(self) -> dict[str, Any]:
        return {"slots": self.slots, **self.fractions}
