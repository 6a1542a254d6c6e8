"""A mutant as a unified diff of its source."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from opgold.harness.gates.mutation.equivalents import path_of
from opgold.kernels.mutants import Mutant


def mutated_text(mutant: Mutant) -> str:
    """The whole file with the mutant in it. Raises ValueError if the file has changed since the mutant was made."""
    text = _text(mutant.file)
    start = sum(len(row) for row in text.splitlines(keepends=True)[: mutant.line - 1]) + mutant.column - 1
    if not text.startswith(mutant.before, start):
        raise ValueError(f"{mutant.file}:{mutant.line}: has changed: expected {mutant.before!r}")
    return text[:start] + mutant.after + text[start + len(mutant.before) :]


def unified(mutant: Mutant) -> str:
    """The changed lines alone, with a head that `git apply --unidiff-zero` takes."""
    name, line = path_of(mutant), mutant.line
    text, changed = _text(mutant.file), mutated_text(mutant)
    removed = text.splitlines()[line - 1 : line + mutant.before.count("\n")]
    added = changed.splitlines()[line - 1 : line + mutant.after.count("\n")]
    spans = [f"{line},{len(rows)}" if len(rows) > 1 else str(line) for rows in (removed, added)]
    rows = [f"--- a/{name}", f"+++ b/{name}", f"@@ -{spans[0]} +{spans[1]} @@"]
    return "\n".join([*rows, *(f"-{row}" for row in removed), *(f"+{row}" for row in added)]) + "\n"


@lru_cache
def _text(file: Path) -> str:
    return file.read_text()
