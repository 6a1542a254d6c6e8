"""A folder of recorded calls: each is a case, and beside it what the program's op made of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opgold.harness.backends.base import UnknownBackend
from opgold.harness.backends.module import Remembered
from opgold.harness.backends.played import Played
from opgold.harness.case import Case
from opgold.harness.paddle.parameters import Binding
from opgold.harness.record import files

MANIFEST = "recording.json"
CONTRACT = "contract.yaml"  # a copy of the file that NAME@FILE named
CALL = ".recorded.npz"  # beside a case's file


class RecordingError(UnknownBackend):
    """A folder that holds no recording, or one that cannot be used. The message names the file."""


class Unrecordable(ValueError):
    """A recording that cannot be made as it was asked for."""


class Recorded(Played):
    """`recorded:FOLDER`: the recorded calls, as they were made. Raises RecordingError."""

    def __init__(self, name: str) -> None:
        self.folder = Path(name.partition(":")[2])
        self.told = manifest(self.folder)
        try:
            told = self.told["bindings"].items()
            self.bindings = {op: Binding(**{key: tuple(names) for key, names in said.items()}) for op, said in told}
            self._program = self.told["module"].partition("@")[0]
        except (AttributeError, KeyError, TypeError) as error:
            raise RecordingError(f"{self.folder / MANIFEST}: {type(error).__name__}: {error}") from error
        own = self.folder / CONTRACT
        super().__init__(name, Remembered(f"{self._program}@{own}" if own.exists() else self._program, self.bindings))

    def takes(self, case: Case) -> Case | None:
        if case.path is not None and (path := case.path.with_suffix(CALL)).exists():
            arrays = {n: v for n, v in case.inputs.items() if isinstance(v, np.ndarray)}
            try:
                observed, _ = files.read(path, arrays)
            except (KeyError, ValueError, OSError) as error:
                raise RecordingError(f"{path}: {type(error).__name__}: {error}") from error
            self.add(case, observed)
        return super().takes(case)

    @property
    def ops(self) -> list[str]:
        """The ops of which there are calls, kept or not to be said as cases."""
        return sorted({*self.bindings, *self.told["unfit"]})

    def lines(self) -> list[str]:
        """Where the calls are from, and how one is kept."""
        seen, kept = (sum(self.told[key].values()) for key in ("seen", "kept"))
        return [
            f"{self.folder}: {kept:,} of {seen:,} calls of {self._program}",
            f"keep one: opgold case keep {self.folder}/OP/call_N.yaml --out cases/regressions/OP/SCENARIO.yaml",
        ]

    def cases(self, ops: Sequence[str] | None = None) -> list[Path]:
        """The case files, of these ops or of all, in the order of the calls."""
        found = [path for path in self.folder.glob("*/*.yaml") if path.with_suffix(CALL).exists()]
        chosen = [path for path in found if not ops or path.parent.name in ops]
        return sorted(chosen, key=lambda path: (path.parent.name, len(path.stem), path.stem))


def manifest(folder: Path) -> dict[str, Any]:
    """What a recording says of itself. Raises RecordingError."""
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        what = "there is no such folder" if not folder.is_dir() else f"holds no {MANIFEST}, so no recording that ended"
        raise RecordingError(f"recorded: {folder}: {what}") from error
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise RecordingError(f"{path}: expected a mapping")
    return document
