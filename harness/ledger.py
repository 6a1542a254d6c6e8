"""The ledger of known failures: findings that are expected until a date, each for a reason. Its form: docs/cases.md."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import opgold.cases
from opgold.harness import backends, oracles, sequences
from opgold.harness.finding import Finding, Known
from opgold.reference import schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PATH = Path(opgold.cases.__path__[0]) / "known_failures.toml"
TABLE = "failure"
PREDICATES = ("case", "oracle", "argument")
ORACLES = (*oracles.ALL, "build")
GOLDEN = "golden"  # what findings on a golden model name as their backend

Ran = tuple[str, str, str]  # backend, op, name of a kept case


class LedgerError(ValueError):
    """A ledger that cannot be used. The message names file, entry, field and value."""


@dataclass(frozen=True)
class Entry:
    """Findings of `op` (or of a kind of sequences) on `backend` that meet every predicate given, up to and including
    the day `expires`. `case` is a pattern for the names of cases."""

    number: int
    op: str
    backend: str
    reason: str
    expires: date
    case: str | None = None
    oracle: str | None = None
    argument: str | None = None

    @property
    def title(self) -> str:
        return f"{TABLE} {self.number} ({self.op} on {self.backend})"

    @property
    def predicate(self) -> str:
        return ", ".join(f"{name}: {value!r}" for name in PREDICATES if (value := getattr(self, name)) is not None)

    def names(self, op: str, finding: Finding) -> bool:
        """Whether it is about a finding that was made when `op` was checked."""
        return (
            (self.op, self.backend) == (op, finding.backend)
            and (self.case is None or fnmatchcase(finding.case, self.case))
            and self.oracle in (None, finding.oracle)
            and (self.argument is None or finding.concerns(self.argument))
        )

    def cases(self) -> list[str]:
        """The kept cases that it is about."""
        return [p.stem for p in sequences.kept(self.op) if self.case is None or fnmatchcase(p.stem, self.case)]

    def absent(self) -> str:
        """The field whose value names nothing that there is, in words; empty if all is there."""
        if self.op not in (*schema.ops(), *sequences.NAMES):
            return f"op: {self.op!r}: there is no such op"
        if self.backend != GOLDEN and not backends.named(self.backend):
            return f"backend: {self.backend!r}: there are {', '.join((*backends.NAMES, GOLDEN))}"
        if self.backend != GOLDEN and not any(map(backends.get(self.backend).has, sequences.ops(self.op))):
            return f"backend: {self.backend!r}: it does not have {self.op}"
        if self.case is not None and not self.cases():
            return f"case: {self.case!r}: no kept case of {self.op} has such a name"
        if self.argument is not None and self.op not in sequences.NAMES:
            arguments = [argument.name for argument in schema.load(self.op).arguments]
            if self.argument not in arguments:
                return f"argument: {self.argument!r}: {self.op} has {', '.join(arguments)}"
        return ""


@dataclass(frozen=True)
class Ledger:
    """Entries, the file that they stand in, and the day on which they are read."""

    entries: tuple[Entry, ...] = ()
    path: Path = PATH
    today: date = date.min

    def known(self, op: str, finding: Finding) -> Known | None:
        """The finding with what the entries that name it say; None if there is none in force."""
        naming = [entry for entry in self.entries if entry.expires >= self.today and entry.names(op, finding)]
        if not naming:
            return None
        return Known(finding, naming[0].reason, naming[0].expires, tuple(entry.number for entry in naming))

    def split(self, op: str, findings: Iterable[Finding]) -> tuple[list[Finding], list[Known]]:
        """The findings that no entry names, and those that one does."""
        fresh, known = [], []
        for finding in findings:
            found = self.known(op, finding)
            if found is None:
                fresh.append(finding)
            else:
                known.append(found)
        return fresh, known

    def problems(self, ran: Collection[Ran], used: Collection[int]) -> list[str]:
        """What is wrong with each entry that is expired or stale, a line each.

        `ran` are the kept cases that were executed, `used` the numbers of the entries that named a finding. Where
        cases of an entry did not run, it is not said to be passing.
        """
        told = ((entry, self._problem(entry, ran, used)) for entry in self.entries)
        return [f"{self.path}: {entry.title}: {problem}" for entry, problem in told if problem]

    def _problem(self, entry: Entry, ran: Collection[Ran], used: Collection[int]) -> str:
        if entry.expires < self.today:
            return f"expires: {entry.expires} is past; what it names counts as failing"
        if absent := entry.absent():
            return f"{absent}; remove the entry, or correct it"
        cases = entry.cases()
        on = None if entry.backend == GOLDEN else entry.backend
        executed = {case for backend, op, case in ran if op == entry.op and on in (None, backend)}
        if cases and executed.issuperset(cases) and entry.number not in used:
            those = f"its {len(cases)} cases" if len(cases) > 1 else "its case"
            return f"{entry.predicate}: {those} ran, and nothing was found that it names; remove the entry"
        return ""


EMPTY = Ledger()


def read(path: Path = PATH, today: date | None = None) -> Ledger:
    """The ledger of a file, as on `today`. Raises LedgerError."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LedgerError(f"{path}: no TOML: {error}") from error
    if unknown := sorted(set(document) - {TABLE}):
        raise LedgerError(f"{path}: unknown key {unknown[0]!r}; entries are tables [[{TABLE}]]")
    tables = document.get(TABLE, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise LedgerError(f"{path}: {TABLE}: {tables!r}, expected tables [[{TABLE}]]")
    entries = []
    for number, table in enumerate(tables, 1):
        try:
            entries.append(_entry(number, table))
        except ValueError as error:
            about = f" ({table.get('op')} on {table.get('backend')})"
            raise LedgerError(f"{path}: {TABLE} {number}{about}: {error}") from error
    return Ledger(tuple(entries), path, today or date.today())


def _entry(number: int, table: Mapping[str, Any]) -> Entry:
    keys = [field.name for field in fields(Entry) if field.name != "number"]
    for key, value in table.items():
        if key not in keys:
            raise ValueError(f"{key}: {value!r}: unknown key; there are {', '.join(keys)}")
        if key != "expires" and not (isinstance(value, str) and value):
            raise ValueError(f"{key}: {value!r}, expected a text")
    for key in ("op", "backend", "reason", "expires"):
        if key not in table:
            raise ValueError(f"{key}: is missing")
    expires = table["expires"]
    if not isinstance(expires, date) or isinstance(expires, datetime):
        raise ValueError(f"expires: {expires!r}, expected a date such as 2030-12-31, without quotes")
    if not any(key in table for key in PREDICATES):
        raise ValueError(f"it names every finding; give one of {', '.join(PREDICATES)}")
    if "://" not in table["reason"]:
        raise ValueError(f"reason: {table['reason']!r}, expected a link in it")
    if table.get("oracle", ORACLES[0]) not in ORACLES:
        raise ValueError(f"oracle: {table['oracle']!r}, expected one of {', '.join(ORACLES)}")
    return Entry(number, **table)
