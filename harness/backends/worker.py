"""The child of `DeviceProcess`: opens one device and answers calls until its parent goes.

Run as `python -m opgold.harness.backends.worker DESCRIPTOR TARGET`, DESCRIPTOR being the child's end of a connection.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from opgold.kernels import runtime


def leave_with_parent(parent: int) -> None:
    """End this process soon after its parent, also while a call on the device never returns."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def answer(device: runtime.Device, request: dict[str, Any]) -> Any:
    """What `request` asks for: the report of a call, and the arrays that it wrote."""
    report = device.call(**request)
    written = {name: value for name, value, direction in request["tensors"] if direction != "in"}
    return report, {name: value for name, value in written.items() if isinstance(value, np.ndarray)}


def portable(error: Exception) -> Exception:
    """The exception itself, if it survives the way to the parent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def serve(
    connection: Connection, open_device: Callable[[], Any], answer: Callable[[Any, dict[str, Any]], Any] = answer
) -> None:
    """Answer requests with (result, None) or (None, exception). The first answer says why the device is unusable."""
    try:
        device = open_device()
        connection.send((device.unavailable, None))
    except Exception as error:
        connection.send((None, portable(error)))
        return
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        try:
            reply = (answer(device, request), None)
        except Exception as error:
            connection.send((None, portable(error)))
        else:
            connection.send(reply)


def main(descriptor: str, target: str, open_device: Callable[[str], runtime.Device] = runtime.device) -> None:
    leave_with_parent(os.getppid())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what kernels print must not mix with the parent's output
    serve(Connection(int(descriptor)), lambda: open_device(target))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
