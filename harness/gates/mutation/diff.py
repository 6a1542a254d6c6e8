"""A mutant as a unified diff of its source."""

from __future__ import annotations

import difflib
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
    """The changed lines alone, with a head that `patch` and `git apply --unidiff-zero` take."""
    name = path_of(mutant)
    before, after = (text.splitlines(keepends=True) for text in (_text(mutant.file), mutated_text(mutant)))
    return "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=0))


@lru_cache
def _text(file: Path) -> str:
    return file.read_text()
