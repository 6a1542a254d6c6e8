"""A device that is opened in a process of its own, so that no crash, hang or poisoned context reaches this one."""

from __future__ import annotations

import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

from opgold.harness import devices

WORKER = (sys.executable, "-m", "opgold.harness.backends.worker")
START_LIMIT = 120.0  # seconds to import, load and create a context


class ProcessLost(RuntimeError):
    """The process died or gave no answer. `kind` is "fault" or "hang"."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class DeviceProcess:
    """Started with the device of a target; `unavailable` is its first answer.

    Raises what the child raises while it opens the device, and ProcessLost if it does not get that far.
    """

    def __init__(self, target: str, worker: Sequence[str] = WORKER) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            self._child = subprocess.Popen(
                [*worker, str(theirs.fileno()), target],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=devices.narrowed(),
            )
        self._end = weakref.finalize(self, _end, self._child, self._connection)
        try:
            self.unavailable: str = self._receive(START_LIMIT)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._end.alive and self._child.poll() is None

    def ask(self, request: dict[str, Any], limit: float) -> Any:
        """The child's answer, within `limit` seconds. Raises what it raised, or ends it and raises ProcessLost."""
        try:
            try:
                self._connection.send(request)
            except (BrokenPipeError, ConnectionResetError):
                raise self._death() from None
            return self._receive(limit)
        except ProcessLost:
            self.close()
            raise

    def close(self) -> None:
        """End the child."""
        self._end()

    def _receive(self, limit: float) -> Any:
        try:
            if not self._connection.poll(limit):
                raise ProcessLost("hang", f"no answer within {limit:g} s")
            result, error = self._connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._death() from None
        if error is not None:
            raise error
        return result

    def _death(self) -> ProcessLost:
        try:
            code = self._child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return ProcessLost("fault", "the process closed its connection")
        if code >= 0:
            return ProcessLost("fault", f"the process ended with exit code {code}")
        try:
            return ProcessLost("fault", f"the process died: {signal.Signals(-code).name}")
        except ValueError:
            return ProcessLost("fault", f"the process died: signal {-code}")


def _end(child: subprocess.Popen[bytes], connection: Connection) -> None:
    connection.close()
    child.kill()
    with suppress(subprocess.TimeoutExpired):  # a driver may take long to end what runs on the device
        child.wait(timeout=10)
