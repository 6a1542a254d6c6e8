"""A process that judges one task after another, and tells of each mutant as it is judged."""

from __future__ import annotations

import signal
import traceback
from multiprocessing.connection import Connection

from opgold.harness.finding import Finding
from opgold.harness.gates.mutation import examine
from opgold.harness.gates.mutation.verdict import Ended, Unmutated


def work(connection: Connection) -> None:
    """Perform the tasks that come, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its processes; each of them need not tell of it
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            for message in examine.perform(task):
                connection.send(message)
        except BrokenPipeError:
            return
        except Exception as error:
            said = f"its mutants cannot be judged: {type(error).__name__}: {error}\n{traceback.format_exc()}"
            connection.send(Unmutated(task.about, Finding(task.op, task.side, "launch", said)))
            connection.send(Ended(task.about))
