"""`opgold record`: runs a program, and records the calls that its Python processes make of a module's ops."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from opgold.harness.record import MAX_BYTES, MAX_CALLS
from opgold.harness.record.child import VARIABLE
from opgold.harness.record.folder import Unrecordable
from opgold.harness.record.session import Session

STARTUP = Path(__file__).parent / "startup"
PAUSE = 0.2  # seconds between two looks at what waits


def record(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments.")],
    module: Annotated[str, typer.Option(help="Whose ops are recorded: NAME or NAME@FILE, as of a backend module:.")],
    out: Annotated[Path, typer.Option(help="Folder for the calls; made, or empty.", show_default=False)],
    op: Annotated[list[str] | None, typer.Option(help="An op; may be repeated; all if none is named.")] = None,
    max_calls: Annotated[int, typer.Option(min=1, help="Calls kept of each op.")] = MAX_CALLS,
    max_bytes: Annotated[int, typer.Option(min=1, help="Bytes kept of all calls.")] = MAX_BYTES,
) -> None:
    """Run COMMAND and record the calls that it makes of a module's ops on Paddle tensors; exits as COMMAND does."""
    if shutil.which(command[0]) is None:
        raise Unrecordable(f"{command[0]}: there is no such command")
    session = Session(module, out, ops=op or (), max_calls=max_calls, max_bytes=max_bytes)
    session.open()
    code = run(session, command)
    typer.echo("\n".join(session.end().lines()), err=True)
    raise typer.Exit(code)


def run(session: Session, command: list[str]) -> int:
    """Run the program to its end, and sort its calls meanwhile; what it exits with."""
    program = subprocess.Popen(command, env=environment(session))
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),  # a terminal tells the program, too
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: program.terminate()),
    }
    try:
        while True:
            try:
                code = program.wait(PAUSE)
                break
            except subprocess.TimeoutExpired:
                session.sorter.sort()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def environment(session: Session) -> dict[str, str]:
    """The environment in which a Python process records."""
    wanted = {
        "module": session.module,
        "spool": str(session.spool),
        "ops": session.ops,
        "max_bytes": session.max_bytes,
    }
    paths = [str(STARTUP), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, VARIABLE: json.dumps(wanted), "PYTHONPATH": os.pathsep.join(paths)}
