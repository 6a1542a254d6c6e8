"""The kinds of sequences. Their packages have the same parts: script, scriptfile, account, world, play, machine."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from opgold.harness import casefile, rounds, steps
from opgold.harness.casefile import CaseError

PACKAGES: dict[str, ModuleType] = {package.NAME: package for package in (rounds, steps)}
NAMES = tuple(PACKAGES)


def part(name: str, module: str) -> ModuleType:
    """A module of a kind's package."""
    return importlib.import_module(f"{PACKAGES[name].__name__}.{module}")


def name_of(script: object) -> str:
    """The kind of a sequence."""
    return next(name for name, package in PACKAGES.items() if type(script).__module__.startswith(package.__name__))


def ops(name: str) -> list[str]:
    """Every op that sequences of a kind may call; of an op, itself."""
    return list(PACKAGES[name].ops()) if name in PACKAGES else [name]


def saved(name: str) -> list[Path]:
    """The sequences of a kind that are kept, by name."""
    return list(part(name, "scriptfile").saved())


def kept(name: str) -> list[Path]:
    """The files of a kind's sequences; of an op, those of its regression cases."""
    return saved(name) if name in PACKAGES else casefile.regressions(name)


def is_sequence(document: Mapping[str, Any]) -> bool:
    """Whether a file's mapping is a sequence's, not a case's."""
    return "sequence" in document


def parse(document: Mapping[str, Any], path: Path) -> Any:
    """The sequence of a file's mapping. Raises CaseError."""
    name = document.get("sequence")
    if name not in NAMES:
        raise CaseError(f"{path}: sequence: {name!r}, expected {' or '.join(NAMES)}")
    return part(name, "scriptfile").parse(document, path)
