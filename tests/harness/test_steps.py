"""Chains: the golden models keep to plain decoding, and generated chains reach every state."""

from collections import Counter

import pytest

from opgold.harness import backends
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.steps import machine, ops
from opgold.harness.steps.play import Player, play
from opgold.harness.steps.script import METHODS, Insert, Preempt, Script, Step, Turn
from opgold.harness.steps.toy import END_IDS, WORDS

CHAINS = 50  # what the default profile plays


@pytest.mark.parametrize("seed", range(4))
def test_golden_models_keep_to_plain_decoding(seed):
    outcome = machine.search(None, 2 * CHAINS, seed)
    assert outcome.findings == []
    assert outcome.executed >= CHAINS
    assert outcome.compared == 0
    assert {(drafts, drafts) for drafts in range(1, 5)} <= set(outcome.accepted.counts), "all of them, however many"


def test_the_emulator_agrees_in_every_call():
    backend = backends.get("cuda-emu")
    outcome = machine.search(backend, 10)
    assert outcome.findings == []
    assert outcome.compared >= 8 * outcome.rounds > 0


def test_every_op_is_called_on_the_backend_and_only_on_copies():
    class Counting(GoldenBackend):
        def __init__(self):
            self.calls = Counter()

        def call(self, signature, values, variant):
            self.calls[signature.op] += 1
            return super().call(signature, values, variant)

    backend = Counting()
    steps = (Insert(1, (8, 9)), Step(), Step({1: Turn(2)}))
    for script in (
        *(Script(method, 2, 2, steps) for method in METHODS),
        Script("mtp", 2, 2, steps, verify="top_p", update="legacy"),
    ):
        assert play(script, backend).findings == []
    assert set(backend.calls) == set(ops())
    assert (backend.calls["verify_draft_tokens"], backend.calls["unified_update_model_status"]) == (8, 8)


def test_generated_chains_hang_on_the_seed_and_reach_every_state(monkeypatch):
    seen = []
    take = Player.take

    def record(self, step):
        seen.append((self.script.method, self.script.layout, step, dict(self.account.requests)))
        return take(self, step)

    monkeypatch.setattr(Player, "take", record)
    machine.search(None, 20, seed=3)
    first = [step for *_, step, _ in seen]
    seen.clear()
    machine.search(None, 20, seed=3)
    assert [step for *_, step, _ in seen] == first
    seen.clear()
    machine.search(None, 80, seed=4)
    assert [step for *_, step, _ in seen][: len(first)] != first
    assert {(method, layout) for method, layout, *_ in seen} == {(m, n) for m in METHODS for n in (0, 1)}
    assert {type(step).__name__ for *_, step, _ in seen} == {"Insert", "Step", "Block", "Resume", "Preempt"}
    requests = [request for *_, held in seen for request in held.values()]
    assert {request.reasoning for request in requests} == {0, 1, 2, 3}
    assert {request.injected for request in requests} >= {-1, 1, 2, 3, 4}
    assert any(request.replied == request.reply > 0 for request in requests)


def test_no_draft_changes_what_is_emitted():
    """Plain decoding by the ops themselves: the naive method, against every mix of drafts."""

    def text(method, drafts, turn, **choices):
        steps = (Insert(0, (8, 12, 9), max_dec=24, min_dec=24, think=9, reply=6), *[Step({0: turn})] * 24)
        player = Player(Script(method, drafts, 1, steps, **choices))
        for step in steps:
            assert player.take(step) == []
        return player.world.history[0].tolist()

    plain = text("naive", 0, Turn())
    assert len([token for token in plain if token >= 0]) > 12
    for right in range(4):
        for wrong in range(4 - right):
            assert text("mtp", 3, Turn(right, wrong)) == plain
    assert text("ngram", 3, Turn()) == plain
    *said, last = [token for token in plain if token >= 0]
    legacy = [token for token in text("mtp", 3, Turn(2, 1), update="legacy") if token >= 0]
    assert legacy == said[: len(legacy)], "the step that ends a request is not written"
    assert len(legacy) > 12
    assert last in END_IDS
    assert all(text("hybrid", 3, Turn(right, 1)) == plain for right in range(3))


def test_literal_tokens_and_seeds_are_compared():
    steps = (Insert(0, (8,), seed=5), Step({0: Turn(seeds=(5,))}), Step({0: Turn(wrong=1, seeds=(13, 18))}))
    (finding,) = play(Script("mtp", 1, 1, steps)).findings
    assert (finding.expected, finding.got) == ("[13, 18]", "[13, 17]")
    assert "step 3 (step): the seeds are those that the sequence gives" in finding.message
    (finding,) = play(Script("mtp", 1, 1, (Insert(0, (8,)), Step({0: Turn(emits=(0,))})))).findings
    assert "the tokens are those that the sequence gives" in finding.message


def test_preempted_slots_are_taken_again():
    steps = (Insert(0, (8,)), Step(), Step(), Preempt(0), Step(), Insert(0, tuple(WORDS)), Step(), Step())
    played = play(Script("mtp", 1, 2, steps, layout=1))
    assert (played.findings, played.rounds) == ([], 5)
