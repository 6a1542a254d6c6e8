"""The child of `Apart`: imports a module and calls its ops until its parent goes.

Run as `python -m opgold.harness.backends.module_worker PATH DESCRIPTOR NAME`, PATH being the parent's `sys.path` as
JSON, DESCRIPTOR the child's end of a connection, NAME the backend's.
"""

from __future__ import annotations

import json
import os
import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from opgold.harness.backends.base import Variant
from opgold.harness.backends.module import Module
from opgold.harness.backends.worker import leave_with_parent, serve
from opgold.harness.paddle.parameters import Binding, CallMismatch
from opgold.reference import schema


class Opened:
    """The module; `unavailable` says why it cannot be used."""

    def __init__(self, name: str) -> None:
        self.module = Module(name)
        self.unavailable = self.module.unavailable()

    def bindings(self) -> dict[str, Binding | str]:
        """How each op that the module has is called, or why it cannot be."""
        found: dict[str, Binding | str] = {}
        for op in filter(self.module.has, schema.ops()):
            try:
                found[op] = self.module.bound(op)[1]
            except CallMismatch as mismatch:
                found[op] = str(mismatch)
        return found


def answer(opened: Opened, request: dict[str, Any]) -> Any:
    """The bindings or, of a call, its report and every array after it."""
    if not request:
        return opened.bindings()
    values = request["values"]
    report = opened.module.call(schema.load(request["op"]), values, Variant())
    return report, {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def main(path: str, descriptor: str, name: str) -> None:
    leave_with_parent(os.getppid())
    sys.path[:] = json.loads(path)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a module prints must not mix with the parent's output
    serve(Connection(int(descriptor)), lambda: Opened(name), answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
