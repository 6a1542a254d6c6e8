"""Random rounds, timed whole: on the golden models alone, and with every call made on the emulator as well."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from opgold.harness import rounds
from opgold.harness.backends.base import Backend
from opgold.harness.bench.row import Row
from opgold.harness.bench.sides import LIMITS, sides
from opgold.harness.rounds.play import Player
from opgold.harness.rounds.script import Insert, Round, Script, Turn

ROUNDS, SLOTS, MODEL_STEPS = 300, 4, 3


def measure() -> Iterator[Row]:
    """A row for the golden models, one for the emulator, half of the rounds in each form."""
    for name, backend in sides(rounds.ops()):
        seconds = [s for form in rounds.OPS for s in _walk(form, backend)]
        workload = f"a round: {SLOTS} slots, {MODEL_STEPS} model steps"
        yield Row.of(f"{rounds.NAME} ({name})", workload, seconds, limit=LIMITS[name])


def _walk(form: str, backend: Backend | None) -> Iterator[float]:
    """Seconds of each round; requests come as slots fall free, and accept and end at random."""
    rng = np.random.default_rng(1)
    player = Player(Script(form, MODEL_STEPS, SLOTS), backend)  # type: ignore[arg-type]
    requests = player.account.requests
    for _ in range(ROUNDS // 2):
        for slot in set(range(SLOTS)) - set(requests):
            player.take(Insert(slot, int(rng.integers(1, 33)), max_dec=int(rng.integers(2, 33))))
        turns = {}
        for slot, request in requests.items():
            window = 1 + request.drafts if request.cached >= request.insert.prompt else 1
            end = int(rng.integers(0, MODEL_STEPS)) if rng.random() < 0.1 else None
            turns[slot] = Turn(int(rng.integers(1, window + 1)), bool(rng.random() < 0.05), end)
        begun = time.perf_counter()
        findings = player.take(Round(turns))
        yield time.perf_counter() - begun
        assert not findings, findings[0]
