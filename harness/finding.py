"""What an oracle reports, and how it reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any


def _near(path: Path) -> Path:
    """The path from here, if it lies below this folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


@dataclass(frozen=True)
class Finding:
    """One way in which a run departs from what it should be.

    `backend` is "golden" where the model itself is at fault. `index` is an element of `argument`, `slot` the batch slot
    that it belongs to and that slot's state, `variant` how the run was varied, `count` how many elements are concerned,
    `cause` the place in the code, where it is known, `sides` what the golden model and each backend have there.
    """

    op: str
    backend: str
    oracle: str
    message: str
    argument: str | None = None
    index: tuple[int, ...] | None = None
    expected: str | None = None
    got: str | None = None
    slot: str | None = None
    variant: str | None = None
    count: int = 1
    case: str = "generated"
    saved: Path | None = None
    cause: str | None = None
    sides: str | None = None

    def of_file(self, path: Path) -> Finding:
        """The same finding, pointing at the file of the case that shows it."""
        return replace(self, case=path.stem, saved=path)

    @property
    def kind(self) -> tuple[str, ...]:
        """What findings of one fault have in common, in whatever case they show."""
        return (self.op, self.backend, self.oracle, self.cause or self.argument or self.message)

    @property
    def title(self) -> str:
        return f"{self.op} · {self.backend} · {self.oracle}"

    @property
    def element(self) -> str:
        """`name[2, 0]`, or an empty string."""
        if self.argument is None:
            return ""
        return self.argument if self.index is None else f"{self.argument}[{', '.join(map(str, self.index))}]"

    def concerns(self, argument: str) -> bool:
        """Whether it is about an argument of the op: an element of it, or a device's fault at its buffer."""
        return self.argument == argument or f"`{argument}`" in self.message

    def lines(self) -> list[str]:
        """The finding for a person, title first."""
        lines = [self.title, *(f"  {line}" for line in self.message.splitlines())]
        if self.element:
            lines.append(f"  where     {self.element}" + (f", {self.slot}" if self.slot else ""))
        if self.expected is not None or self.got is not None:
            lines.append(f"  expected  {self.expected}")
            lines.append(f"  got       {self.got}")
        if self.sides:
            lines.append(f"  sides     {self.sides}")
        if self.variant:
            lines.append(f"  run       {self.variant}")
        if self.saved:
            lines.append(f"  case      {self.case}: {_near(self.saved)}")
            lines.append(f"  repeat    {self.repeat}")
        return lines

    @property
    def repeat(self) -> str:
        """The command that shows this finding again."""
        backend = "" if self.backend == "golden" else f" --backend {self.backend}"
        return f"opgold check{backend} --case {_near(self.saved) if self.saved else 'FILE'}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_json(self) -> dict[str, Any]:
        record = {key: value for key, value in asdict(self).items() if value is not None}
        if self.saved:
            record |= {"saved": str(self.saved), "repeat": self.repeat}
        return record


@dataclass(frozen=True)
class Known:
    """A finding that entries of the ledger name, by their numbers; why, and the last day on which they do."""

    finding: Finding
    reason: str
    expires: date
    entries: tuple[int, ...]

    def __str__(self) -> str:
        """In one line."""
        finding, reason = self.finding, " ".join(self.reason.split())
        about = finding.element or finding.message.partition("\n")[0].partition(":")[0]
        return f"known until {self.expires}: {finding.title} · {finding.case} · {about}: {reason}"

    def as_json(self) -> dict[str, Any]:
        told = {"reason": self.reason, "expires": self.expires.isoformat(), "entries": list(self.entries)}
        return self.finding.as_json() | told
