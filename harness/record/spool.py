"""Where a process of the recorded program leaves its calls for the sorter, and what it counts. Light to import."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

META = "meta"  # the entry of a file that is no array of the call
MOST_WAITING = 4096  # calls
LOOK_AGAIN = 256  # calls of this process, after which those of all that wait are counted anew
MOST_FAULTS = 20  # different ones that are told
PATIENCE = 1.0  # seconds between two reports of counts, where no call is left


class Spool:
    """One process's part of the folder `folder`: a file for each call, renamed into place when it is whole, and one
    for the counts. Up to `max_bytes` wait there, of all processes; then `make_room` is called, or calls are dropped.

    A child that is forked has counts and files of its own.
    """

    def __init__(self, folder: Path, max_bytes: int, make_room: Callable[[], None] | None = None) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._make_room = make_room
        self._begin()
        os.register_at_fork(after_in_child=self._begin)
        atexit.register(self.tell)

    def _begin(self) -> None:
        self._token = uuid.uuid4().hex
        self._lock = threading.RLock()
        self._number = 0
        self._told = 0.0
        self._fresh = False
        self._waiting, self._bytes, self._unlooked = 0, 0, LOOK_AGAIN
        self._seen: Counter[str] = Counter()
        self._has: dict[str, str] = {}
        self._dropped: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._unfit: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._faults: list[str] = []

    def has(self, functions: dict[str, str]) -> None:
        """Note the functions that the module has, by name, and their ops."""
        self._has |= functions
        self._fresh = True

    def seen(self, op: str) -> int:
        """Count a call; its number in this process."""
        with self._lock:
            self._seen[op] += 1
            self._fresh = True
            return self._seen[op]

    def drop(self, op: str, reason: str) -> None:
        """Count a call that is not kept, and why."""
        with self._lock:
            self._dropped[op][reason] += 1
            self._fresh = True
        self.tell(PATIENCE)

    def unfit(self, op: str, why: str) -> None:
        """Count a call that cannot be a case, and why."""
        with self._lock:
            self._unfit[op][why] += 1
            self._fresh = True
        self.tell(PATIENCE)

    def fault(self, text: str) -> None:
        """Note that recording itself failed."""
        with self._lock:
            if text not in self._faults and len(self._faults) < MOST_FAULTS:
                self._faults.append(text)
            self._fresh = True
        self.tell(PATIENCE)

    def put(self, op: str, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> bool:
        """Leave a call; False if there was no room, which is then counted."""
        import numpy as np

        size = sum(array.nbytes for array in arrays.values())
        if size > self._max_bytes:
            self.drop(op, "larger than --max-bytes")
            return False
        with self._lock:
            if self._full(size) and self._make_room is not None:
                self._make_room()
                self._unlooked = LOOK_AGAIN
            if self._full(size):
                self.drop(op, "waiting calls took all the room")
                return False
            self._number += 1
            path = self._folder / f"{self._token}-{self._number}.npz"
            part = path.with_suffix(".part")
            text = np.frombuffer(json.dumps(meta | {"process": os.getpid()}).encode(), np.uint8)
            with part.open("wb") as file:
                np.savez(file, **arrays, **{META: text})  # type: ignore[arg-type]
            size = part.stat().st_size
            part.replace(path)
            self._waiting, self._bytes, self._unlooked = self._waiting + 1, self._bytes + size, self._unlooked + 1
        self.tell()
        return True

    def _full(self, size: int) -> bool:
        """Whether a call of this size does not fit; looks again at what waits when that may have changed much."""

        def full() -> bool:
            return self._waiting >= MOST_WAITING or self._bytes + size > self._max_bytes

        if self._unlooked >= LOOK_AGAIN or full():
            sizes = [_size(entry) for entry in os.scandir(self._folder) if entry.name.endswith(".npz")]
            self._waiting, self._bytes, self._unlooked = len(sizes), sum(sizes), 0
        return full()

    def tell(self, patience: float = 0.0) -> None:
        """Write the counts, if they are new and the last were written longer ago than `patience` seconds."""
        now = time.monotonic()
        if not self._fresh or now - self._told < patience:
            return
        with self._lock:
            self._told, self._fresh = now, False
            document = {
                "python": sys.executable,
                "has": self._has,
                "seen": self._seen,
                "dropped": self._dropped,
                "unfit": self._unfit,
                "faults": self._faults,
            }
            path = self._folder / f"{self._token}.json"
            part = path.with_suffix(".part")
            try:
                part.write_text(json.dumps(document), encoding="utf-8")
                part.replace(path)
            except OSError:
                return  # the recording has ended, or its disk is full: nobody is there to be told


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except FileNotFoundError:  # sorted meanwhile
        return 0
