"""Sequences of every kind on every chosen backend: those that are kept, and generated ones."""

import pytest

from opgold.harness import sequences
from opgold.harness.check import save_sequence


def test_kept(opgold_sequence, opgold_backend, opgold_judge):
    name = sequences.name_of(opgold_sequence)
    played = sequences.part(name, "play").play(opgold_sequence, opgold_backend)
    opgold_judge(name, played.findings, opgold_sequence.path.stem)
    assert played.rounds > 0
    assert played.compared >= 5 * played.rounds, "calls were not made on the backend"


@pytest.mark.parametrize("name", sequences.NAMES)
def test_generated(name, opgold_backend, opgold_examples, opgold_seed, opgold_judge):
    ops = sequences.ops(name)
    if not all(map(opgold_backend.has, ops)):
        pytest.skip(f"backend {opgold_backend.name} does not have all of {', '.join(ops)}")
    outcome = sequences.part(name, "machine").search(opgold_backend, opgold_examples, opgold_seed)
    if outcome.script is not None:
        opgold_judge(name, save_sequence(outcome.script, outcome.findings))
    assert outcome.executed >= opgold_examples // 2, "too few sequences were played"
    assert outcome.compared > outcome.rounds
