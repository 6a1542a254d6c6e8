"""A recording from its start to its end, in this process or in others."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from opgold.harness.backends.module import Module
from opgold.harness.record import MAX_BYTES, MAX_CALLS
from opgold.harness.record.folder import CONTRACT, Unrecordable
from opgold.harness.record.recorder import Recorder
from opgold.harness.record.sorter import Sorter
from opgold.harness.record.spool import Spool
from opgold.harness.record.summary import Summary
from opgold.reference import schema

SPOOL = ".spool"


class Session:
    """Makes the folder, and the sorter for it. `summary` is there when the recording has ended.

    Raises UnknownOp, UnknownBackend, Unrecordable.
    """

    def __init__(
        self,
        module: str,
        out: str | PathLike[str],
        *,
        ops: Sequence[str] = (),
        max_calls: int = MAX_CALLS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        for op in ops:
            schema.load(op)
        Module(f"module:{module}")  # a name and a contract that can be used
        self.folder = Path(out)
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise Unrecordable(f"{out} is not an empty folder; name another one")
        self.name, _, file = module.partition("@")
        self.ops = list(ops)
        self.max_bytes = max_bytes
        self.spool = self.folder.absolute() / SPOOL  # a process of the program may stand elsewhere
        try:
            self.spool.mkdir(parents=True)
        except OSError as error:
            raise Unrecordable(f"{out}: {error.strerror}") from error
        if file:
            shutil.copyfile(file, self.folder / CONTRACT)
        self.sorter = Sorter(self.module, self.folder, self.spool, max_calls, max_bytes)
        self.summary: Summary | None = None
        self._recorder: Recorder | None = None

    @property
    def module(self) -> str:
        """NAME or NAME@FILE, with the contract's copy."""
        own = self.folder.absolute() / CONTRACT
        return f"{self.name}@{own}" if own.exists() else self.name

    def start(self) -> None:
        """Record in this process. Raises what importing the module raises."""
        spool = Spool(self.spool, self.max_bytes, self.sorter.sort)
        self._recorder = Recorder(self.module, importlib.import_module(self.name), spool, self.ops)
        self._spool = spool
        self._recorder.start()

    def end(self) -> Summary:
        """Record no more, and sort what was recorded."""
        if self._recorder is not None:
            self._recorder.stop()
            self._spool.tell()
        self.summary = self.sorter.finish()
        return self.summary
