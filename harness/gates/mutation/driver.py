"""Judges tasks in several processes, and hands on what each says while it goes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait

from opgold.harness.check import ProcessDied
from opgold.harness.gates.mutation.verdict import ELSEWHERE, Ended, Judged, Message, Task
from opgold.harness.gates.mutation.worker import work
from opgold.kernels.mutants import Mutant


def judge(tasks: Sequence[Task], jobs: int) -> Iterator[Message]:
    """What `jobs` processes say of the tasks. A mutant of a file that several ops have is not tried again once the
    cases of one have caught it. Raises ProcessDied."""
    context = multiprocessing.get_context("spawn")
    waiting, caught = list(tasks), set[Mutant]()
    busy: dict[Connection, Task] = {}
    processes = []

    def give(connection: Connection, before: str = "") -> None:
        task = _next(waiting, before, {task.op for task in busy.values()})
        waiting.remove(task)
        busy[connection] = task
        connection.send(replace(task, known=frozenset(caught)))

    try:
        for _ in range(min(jobs, len(tasks))):
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs,), daemon=False)
            process.start()
            processes.append((process, ours))
            theirs.close()
            give(ours)
        while busy:
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                task = busy[connection]
                try:
                    message = connection.recv()
                except EOFError:
                    raise ProcessDied(f"the process that judged mutants of {task.op} on {task.side} died") from None
                yield message
                if isinstance(message, Judged) and _is_shared(message):
                    caught.add(message.verdict.mutant)
                if isinstance(message, Ended):
                    del busy[connection]
                    if waiting:
                        give(connection, task.op)
    finally:
        for process, connection in processes:
            connection.close()
            process.terminate()
            process.join()


def _next(waiting: Sequence[Task], before: str, elsewhere: Collection[str]) -> Task:
    """The next task of the op whose cases a process has at hand, else one of an op that no other process has."""
    own = (task for task in waiting if task.op == before)
    free = (task for task in waiting if task.op not in elsewhere)
    return next(own, None) or next(free, None) or waiting[0]


def _is_shared(message: Judged) -> bool:
    """Whether another op may have the mutant, too, and need not try it."""
    verdict = message.verdict
    return verdict.caught not in ("", ELSEWHERE) and verdict.mutant.file.stem != message.about.op
