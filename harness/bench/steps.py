"""Random steps of the target, timed whole: on the golden models alone, and with every call made on the emulator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from random import Random

from opgold.harness import steps
from opgold.harness.backends.base import Backend
from opgold.harness.bench.row import Row
from opgold.harness.bench.sides import LIMITS, sides
from opgold.harness.steps.machine import script_of
from opgold.harness.steps.play import Player
from opgold.harness.steps.script import Step

STEPS = 1_000


def measure() -> Iterator[Row]:
    """A row for the golden models, one for the emulator."""
    for name, backend in sides(steps.ops()):
        seconds = list(islice(walk(backend), STEPS))
        yield Row.of(f"{steps.NAME} ({name})", f"a step, of {STEPS:,} in generated chains", seconds, limit=LIMITS[name])


def walk(backend: Backend | None) -> Iterator[float]:
    """Seconds of each step of generated chains, without end: every method and way to verify."""
    rng = Random(1)
    while True:
        script = script_of(rng)
        player = Player(script, backend)
        for step in script.steps:
            begun = time.perf_counter()
            findings = player.take(step)
            seconds = time.perf_counter() - begun
            assert not findings, findings[0]
            if isinstance(step, Step):
                yield seconds
