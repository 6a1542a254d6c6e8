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
    """Calls of `module` (NAME or NAME@FILE) into the folder `out`. `summary` is there when the recording has ended.

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
        self.ops = list(ops)
        self.max_bytes = max_bytes
        self.spool = self.folder.absolute() / SPOOL  # a process of the program may stand elsewhere
        self.name, _, self._contract = module.partition("@")
        self.module = f"{self.name}@{self.folder.absolute() / CONTRACT}" if self._contract else self.name
        self._max_calls = max_calls
        self.summary: Summary | None = None
        self._recorder: Recorder | None = None

    def open(self) -> None:
        """Make the folder. Raises Unrecordable."""
        try:
            self.spool.mkdir(parents=True)
            if self._contract:
                shutil.copyfile(self._contract, self.folder / CONTRACT)
        except OSError as error:
            raise Unrecordable(f"{self.folder}: {error.strerror}") from error
        self.sorter = Sorter(self.module, self.folder, self.spool, self._max_calls, self.max_bytes)

    def start(self) -> None:
        """Record in this process. Raises Unrecordable, and what importing the module raises."""
        loaded = importlib.import_module(self.name)
        self.open()
        spool = Spool(self.spool, self.max_bytes, self.sorter.sort)
        self._recorder = Recorder(self.module, loaded, spool, self.ops)
        self._spool = spool
        self._recorder.start()

    def end(self) -> Summary:
        """Record no more, and sort what was recorded."""
        if self._recorder is not None:
            self._recorder.stop()
            self._spool.tell()
        self.summary = self.sorter.finish()
        return self.summary
