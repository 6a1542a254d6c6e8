"""Whole rounds on every chosen backend: the sequences that are kept, and generated ones."""

import pytest

from opgold.harness import rounds
from opgold.harness.check import save_sequence
from opgold.harness.rounds.machine import search
from opgold.harness.rounds.play import play


def report(findings):
    pytest.fail("\n\n".join(map(str, findings)), pytrace=False)


def test_kept(opgold_sequence, opgold_backend):
    played = play(opgold_sequence, opgold_backend)
    if played.findings:
        report(played.findings)
    assert played.rounds > 0
    assert played.compared >= 5 * played.rounds, "calls were not made on the backend"


def test_generated(opgold_backend, opgold_examples, opgold_seed):
    if not all(map(opgold_backend.has, rounds.ops())):
        pytest.skip(f"backend {opgold_backend.name} does not have all of {', '.join(rounds.ops())}")
    outcome = search(opgold_backend, opgold_examples, opgold_seed)
    if outcome.script is not None:
        report(save_sequence(outcome.script, outcome.findings))
    assert outcome.executed >= opgold_examples // 2, "too few sequences were played"
    assert outcome.compared > outcome.rounds
