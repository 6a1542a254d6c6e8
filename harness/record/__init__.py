"""Calls of a module's ops in a running program, kept as cases: docs/record.md.

This much is imported at the start of every Python process of a recorded program, so nothing here costs anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opgold.harness.record.session import Session

MAX_CALLS = 100  # kept of an op
MAX_BYTES = 1 << 30  # kept of all ops; and as much again may wait to be sorted


@contextmanager
def recording(
    module: str,
    out: str | PathLike[str],
    *,
    ops: Sequence[str] = (),
    max_calls: int = MAX_CALLS,
    max_bytes: int = MAX_BYTES,
) -> Iterator[Session]:
    """Record calls of `module` (NAME or NAME@FILE) within the `with` block, in this process, into the folder `out`.

    All names that stand for its ops in imported modules stand for recorded ones until the block ends; then the calls
    are sorted, and `summary` of what is yielded says what came of it. `ops` are all if none is named; the limits are
    calls kept of each op and bytes of all.

    Raises UnknownOp, UnknownBackend, Unrecordable, and what importing the module raises.
    """
    from opgold.harness.record.session import Session

    session = Session(module, out, ops=ops, max_calls=max_calls, max_bytes=max_bytes)
    session.start()
    try:
        yield session
    finally:
        session.end()
