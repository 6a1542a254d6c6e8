"""Coverage of files, read from a Cobertura report of gcovr or coverage.py."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

_WAYS = re.compile(r"\((\d+)/(\d+)\)")


@dataclass(frozen=True)
class Line:
    """How often a line ran, and how many of its branches were taken."""

    hits: int
    taken: int = 0
    branches: int = 0

    @property
    def covered(self) -> bool:
        """Whether it ran, and every branch of it was taken."""
        return self.hits > 0 and self.taken == self.branches

    @property
    def words(self) -> str:
        """What is missing."""
        if not self.hits:
            return "never ran"
        return f"{self.taken} of {self.branches} branches taken" if not self.covered else "covered"


Lines = dict[int, Line]


def read(report: Path) -> dict[Path, Lines]:
    """The lines of every file of a report."""
    tree = ElementTree.parse(report)
    sources = [Path(source.text.strip()) for source in tree.iterfind("sources/source") if source.text]
    files: dict[Path, Lines] = {}
    for entry in tree.iterfind(".//class"):
        name = entry.get("filename", "")
        candidates = [(source / name).resolve() for source in sources]
        path = next((candidate for candidate in candidates if candidate.exists()), Path(name))
        files[path] = {int(line.get("number", "0")): _line(line) for line in entry.iterfind("lines/line")}
    return files


def _line(element: ElementTree.Element) -> Line:
    ways = _WAYS.search(element.get("condition-coverage", ""))
    taken, branches = map(int, ways.groups()) if ways else (0, 0)
    return Line(int(element.get("hits", "0")), taken, branches)


@dataclass(frozen=True)
class Tally:
    """How many lines there are and ran, how many branches there are and were taken."""

    lines: int = 0
    ran: int = 0
    branches: int = 0
    taken: int = 0

    @classmethod
    def of(cls, files: Iterable[Lines]) -> Tally:
        lines = [line for file in files for line in file.values()]
        return cls(
            len(lines),
            sum(line.hits > 0 for line in lines),
            sum(line.branches for line in lines),
            sum(line.taken for line in lines),
        )

    @property
    def order(self) -> tuple[float, int]:
        """Sorts what is covered least before the rest."""
        total = self.lines + self.branches
        missing = total - self.ran - self.taken
        return (-missing / total if total else 0.0, -missing)

    @property
    def complete(self) -> bool:
        return (self.lines, self.branches) == (self.ran, self.taken)


def percent(part: int, whole: int) -> str:
    """ "97.5 %", rounded down: 100 % is said of everything alone. A dash where there is nothing."""
    return f"{part * 1000 // whole / 10:.1f} %" if whole else "-"


def gaps(lines: Mapping[int, Line]) -> str:
    """ "12-14, 20; not every way: 27, 33" """
    never = _ranges([number for number, line in lines.items() if not line.hits])
    partly = _ranges([number for number, line in lines.items() if line.hits and not line.covered])
    return "; ".join(part for part in (never, f"not every way: {partly}" if partly else "") if part)


def _ranges(numbers: Iterable[int]) -> str:
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans)
