"""Mutants that are known to do what the original does. Their file's form: docs/mutation.md."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import opgold.cases
from opgold.harness.gates.counts import ROOT
from opgold.kernels.mutants import Mutant

if TYPE_CHECKING:
    from opgold.harness.gates.mutation.verdict import Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PATH = Path(opgold.cases.__path__[0]) / "known_equivalents.toml"
TABLE = "equivalent"
Key = tuple[str, str, str, str, str]  # file, operator, before, after, the line's text


class EquivalentsError(ValueError):
    """A file of equivalents that cannot be used. The message names file, entry, field and value."""


@dataclass(frozen=True)
class Equivalent:
    """A mutant, named by what stands in the source: `line` is the text of the line that it begins on."""

    number: int
    file: str
    line: str
    operator: str
    before: str
    after: str
    reason: str

    @property
    def title(self) -> str:
        return f"{TABLE} {self.number} ({self.file}: {self.before} -> {self.after})"

    @property
    def key(self) -> Key:
        return self.file, self.operator, plain(self.before), plain(self.after), self.line.strip()


@dataclass(frozen=True)
class Equivalents:
    """The entries, and the file that they stand in."""

    entries: tuple[Equivalent, ...] = ()
    path: Path = PATH

    def among(self, mutants: Collection[Mutant]) -> set[Mutant]:
        """The mutants that an entry names."""
        return set(filter(self.names, mutants))

    def names(self, mutant: Mutant) -> bool:
        """Whether an entry names the mutant."""
        return self._concerns(mutant) and key_of(mutant) in self._keys

    @cached_property
    def _keys(self) -> frozenset[Key]:
        return frozenset(entry.key for entry in self.entries)

    @cached_property
    def _files(self) -> frozenset[str]:
        return frozenset(entry.file for entry in self.entries)

    def _concerns(self, mutant: Mutant) -> bool:
        return path_of(mutant) in self._files

    def problems(self, mutants: Collection[Mutant], caught: Mapping[Mutant, Verdict], *, partial: bool) -> list[str]:
        """What is wrong with entries about files of `mutants`, a line each: those that name no mutant, unless only a
        part of the files' mutants is here, and those of which every mutant is caught."""
        files, said = {path_of(mutant) for mutant in mutants}, []
        of: dict[Key, list[Mutant]] = defaultdict(list)
        for mutant in filter(self._concerns, mutants):
            of[key_of(mutant)].append(mutant)
        for entry in self.entries:
            if entry.file not in files and (ROOT / entry.file).exists():
                continue
            named = of[entry.key]
            if not named and not partial:
                said.append(f"{self.path}: {entry.title}: there is no such mutant; remove the entry, or correct it")
            elif named and all(mutant in caught for mutant in named):
                by = caught[named[0]]
                said.append(f"{self.path}: {entry.title}: {by.caught} catches it on {by.case}; remove the entry")
        return said


EMPTY = Equivalents()


def key_of(mutant: Mutant) -> Key:
    """What names a mutant, and others with the same text on such a line."""
    line = _lines(mutant.file)[mutant.line - 1].strip()
    return path_of(mutant), mutant.operator, plain(mutant.before), plain(mutant.after), line


def path_of(mutant: Mutant) -> str:
    """A mutant's file as reports name it."""
    return mutant.file.relative_to(ROOT).as_posix() if mutant.file.is_relative_to(ROOT) else str(mutant.file)


def plain(text: str) -> str:
    """A text of the source on one line."""
    return " ".join(text.split())


@lru_cache
def _lines(file: Path) -> Sequence[str]:
    return file.read_text().splitlines()


def read(path: Path = PATH) -> Equivalents:
    """The equivalents of a file. Raises EquivalentsError."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EquivalentsError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EquivalentsError(f"{path}: no TOML: {error}") from error
    if unknown := sorted(set(document) - {TABLE}):
        raise EquivalentsError(f"{path}: unknown key {unknown[0]!r}; entries are tables [[{TABLE}]]")
    tables = document.get(TABLE, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise EquivalentsError(f"{path}: {TABLE}: {tables!r}, expected tables [[{TABLE}]]")
    keys = [entry.name for entry in fields(Equivalent) if entry.name != "number"]
    entries = []
    for number, table in enumerate(tables, 1):
        for key in (*table, *keys):
            value = table.get(key)
            if key not in keys:
                raise EquivalentsError(f"{path}: {TABLE} {number}: {key}: unknown key; there are {', '.join(keys)}")
            if not isinstance(value, str) or not (value.strip() or key == "after"):
                raise EquivalentsError(f"{path}: {TABLE} {number}: {key}: {value!r}, expected a text")
        entries.append(Equivalent(number, **table))
    return Equivalents(tuple(entries), path)
