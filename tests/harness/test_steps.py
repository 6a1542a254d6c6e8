"""Chains: planted faults are found, shrunk, saved and shown again; the golden models keep to plain decoding."""

import itertools
from collections import Counter

import numpy as np
import pytest

from opgold.harness import backends, check
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.steps import machine, ops, scriptfile
from opgold.harness.steps.play import Player, play
from opgold.harness.steps.script import METHODS, Insert, Preempt, Script, Step, Turn
from opgold.harness.steps.toy import END_IDS, WORDS
from opgold.harness.steps.world import World

CHAINS = 50  # what the default profile plays


class Planted(GoldenBackend):
    """A fault in one op: `before` and `after` may change what the model gets and what it leaves."""

    name = "planted"
    op = ""

    def call(self, signature, values, variant):
        if signature.op != self.op:
            return super().call(signature, values, variant)
        kept = {name: np.copy(value) for name, value in values.items() if value is not None}
        report = super().call(signature, self.before(dict(values)), variant)
        if report.error is None:
            self.after(values, kept)
        return report

    def before(self, values):
        return values

    def after(self, values, kept):
        return None


class WritesOneOff(Planted):
    op = "unified_update_model_status"

    def before(self, values):
        return values | {"prompt_lens": np.maximum(values["prompt_lens"] - 1, 0)}


class CountsOneLess(Planted):
    op = "unified_update_model_status"

    def after(self, values, kept):
        values["step_idx"] -= values["step_idx"] > kept["step_idx"]


class ForgetsTheLastToken(Planted):
    """The next step's input is the token before the last."""

    op = "unified_update_model_status"

    def after(self, values, kept):
        long = np.flatnonzero(values["step_output_len"] > 1)
        values["step_input_ids"][long, 0] = values["step_output_ids"][long, values["step_output_len"][long] - 2]


class CutsOneLate(Planted):
    op = "speculate_set_stop_value_multi_seqs"

    def after(self, values, kept):
        for slot in np.flatnonzero((values["accept_tokens"] != kept["accept_tokens"]).any(axis=1)):
            count = values["accept_num"][slot]
            if count < kept["accept_num"][slot]:
                values["accept_tokens"][slot, count - 1] = kept["accept_tokens"][slot, count - 1]
                values["accept_tokens"][slot, count] = END_IDS[0]
                values["accept_num"][slot] = count + 1


class AcceptsOneMore(Planted):
    op = "verify_draft_tokens"

    def after(self, values, kept):
        more = (values["step_output_len"] > 0) & (values["step_output_len"] < values["step_output_ids"].shape[1])
        values["step_output_len"] += more


class SharesSeeds(Planted):
    op = "build_sampling_params"

    def after(self, values, kept):
        starts = values["cu_seqlens_q_output"]
        for first, end in itertools.pairwise(starts):
            values["topp_seed"][first:end] = values["topp_seed"][first : first + 1]


class StaleDrafts(Planted):
    """Looks for the end of a history that is one token short."""

    op = "ngram_match"

    def before(self, values):
        return values | {"step_idx": np.maximum(values["step_idx"] - 1, 0)}


class SwappedAtTheWriter(World):
    def update(self):
        op, values = super().update()
        return op, values | {"history_layout": 1 - self.script.layout}


def swapped_at(reader):
    """A server that reads history in the other layout than it was written in."""

    class Swapped(World):
        pass

    def call(self):
        op, values = getattr(World, reader)(self)
        return op, values | {"history_layout": 1 - self.script.layout}

    setattr(Swapped, reader, call)
    return Swapped


class NaiveKeepsItsSeeds(World):
    """The naive method as it was found upstream: seeds are used, and nobody advances them."""

    def seed(self):
        op, values = super().seed()
        return op, values | ({"increment_value": 0} if self.script.method == "naive" else {})


class NaiveSeedsWithoutTheOp(World):
    """The op's outputs are right in every step, but the slots' own seeds stay behind."""

    def seed(self):
        op, values = super().seed()
        return op, values | ({"infer_seed": self.seeds.copy()} if self.script.method == "naive" else {})


class NaiveSeedsPutBack(World):
    """Somebody restores the seeds behind the op, so that the next step uses the same again."""

    def seed(self):
        self.old = self.seeds.copy()
        return super().seed()

    def run(self):
        super().run()
        if self.script.method == "naive":
            self.seeds[:] = self.old


class AdvancesTwice(World):
    """The op, and the server behind it."""

    def run(self):
        super().run()
        self.seeds[: self.batch] = (self.seeds[: self.batch] + self.script.advance) % self.script.max_infer_seed


class CountsTheLimitTwice(World):
    """The limit works on the step that the update then adds to."""

    def limit(self):
        op, values = super().limit()
        self.step += self.accept_num
        self.counted = self.step
        return op, values | {"step_idx": self.step}


PLANTED = {  # what is planted, the op that the finding names, and the most steps of a chain that shows it
    "history one off": ({"driver": WritesOneOff()}, "unified_update_model_status", 2),
    "step too low": ({"driver": CountsOneLess()}, "unified_update_model_status", 2),
    "wrong next input": ({"driver": ForgetsTheLastToken()}, "unified_update_model_status", 6),
    "stop sequence cuts one late": ({"driver": CutsOneLate()}, "speculate_set_stop_value_multi_seqs", 6),
    "a rejected draft emitted": ({"driver": AcceptsOneMore()}, "verify_draft_tokens", 2),
    "n-gram of an old end": ({"driver": StaleDrafts()}, "ngram_match", 6),
    "layout swapped at the writer": ({"world": SwappedAtTheWriter}, "unified_update_model_status", 2),
    "layout swapped at the penalty": (
        {"world": swapped_at("penalty")},
        "speculate_get_token_penalty_multi_scores",
        3,
    ),
    "layout swapped at the stop sequences": ({"world": swapped_at("cut")}, "speculate_set_stop_value_multi_seqs", 6),
    "layout swapped at reasoning": ({"world": swapped_at("reason")}, "reasoning_phase_token_constraint", 9),
    "layout swapped at the n-gram": ({"world": swapped_at("match")}, "ngram_match", 6),
    "naive seed not advanced": ({"world": NaiveKeepsItsSeeds}, "build_sampling_params", 2),
    "naive seed not kept": ({"world": NaiveSeedsWithoutTheOp}, "build_sampling_params", 2),
    "naive seed put back": ({"world": NaiveSeedsPutBack}, "build_sampling_params", 3),
    "seed advanced twice": ({"world": AdvancesTwice}, "build_sampling_params", 3),
    "seed shared by two rows": ({"driver": SharesSeeds()}, "build_sampling_params", 3),
    "step counted twice": ({"world": CountsTheLimitTwice}, "speculate_limit_thinking_content_length", 2),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_found_by_the_account_alone_and_shrinks(planted, seed, tmp_path):
    fault, op, steps = PLANTED[planted]
    outcome = machine.search(None, CHAINS, seed, **fault)
    assert outcome.script is not None, "not found"
    assert outcome.findings[0].op == op
    assert len(outcome.script.steps) <= steps, outcome.script
    (finding,) = check.save_sequence(outcome.script, outcome.findings, tmp_path)
    assert finding.oracle == "sequence"
    assert finding.slot is not None
    again = scriptfile.read(finding.saved)
    assert [f.message for f in play(again, **fault).findings] == [finding.message]
    assert play(again).findings == [], "the models themselves keep to the account"


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ("naive seed not advanced", "a step advances a slot's seed once"),
        ("naive seed put back", "no two consecutive steps share a seed"),
        ("seed advanced twice", "a row's seed is its slot's and four a row"),
        ("seed shared by two rows", "no two rows of a step share a seed"),
    ],
)
def test_a_finding_says_what_is_wrong_with_a_seed(planted, rule):
    fault, _, _ = PLANTED[planted]
    (finding,) = machine.search(None, CHAINS, **fault).findings
    assert finding.message.endswith(rule)


@pytest.mark.parametrize("backend", [WritesOneOff(), CutsOneLate(), AcceptsOneMore(), SharesSeeds(), StaleDrafts()])
def test_a_kernel_with_the_fault_departs_from_the_golden_model(backend):
    outcome = machine.search(backend, CHAINS)
    assert {finding.backend for finding in outcome.findings} == {"planted"}
    assert outcome.findings[0].op == backend.op
    assert "another value" in outcome.findings[0].message


@pytest.mark.parametrize("seed", range(4))
def test_golden_models_keep_to_plain_decoding(seed):
    outcome = machine.search(None, 2 * CHAINS, seed)
    assert outcome.findings == []
    assert outcome.executed >= CHAINS
    assert outcome.compared == 0
    several = sum(count for tokens, count in outcome.emitted.items() if tokens > 1)
    assert several > outcome.emitted.total() / 4, "acceptance must be common"
    assert max(outcome.emitted) == 5


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
    for method in METHODS:
        script = Script(method, 2, 2, (Insert(1, (8, 9)), Step(), Step({1: Turn(2)})))
        assert play(script, backend).findings == []
    assert set(backend.calls) == set(ops())
    assert (backend.calls["verify_draft_tokens"], backend.calls["unified_update_model_status"]) == (4, 6)


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
    assert {type(step).__name__ for *_, step, _ in seen} == {"Insert", "Step", "Preempt"}
    requests = [request for *_, held in seen for request in held.values()]
    assert {request.reasoning for request in requests} == {0, 1, 2, 3}
    assert {request.injected for request in requests} >= {-1, 1, 2, 3, 4}
    assert any(request.replied == request.reply > 0 for request in requests)


def test_no_draft_changes_what_is_emitted():
    """Plain decoding by the ops themselves: the naive method, against every mix of drafts."""

    def text(method, drafts, turn):
        steps = (Insert(0, (8, 12, 9), max_dec=24, min_dec=24, think=9, reply=6), *[Step({0: turn})] * 24)
        player = Player(Script(method, drafts, 1, steps))
        for step in steps:
            assert player.take(step) == []
        return player.world.history[0].tolist(), player.played.rounds, player.played.emitted

    plain, _, _ = text("naive", 0, Turn())
    assert len([token for token in plain if token >= 0]) > 12
    for right in range(4):
        for wrong in range(4 - right):
            assert text("mtp", 3, Turn(right, wrong))[0] == plain
    assert text("ngram", 3, Turn())[0] == plain


def test_literal_tokens_and_seeds_are_compared():
    steps = (Insert(0, (8,), seed=5), Step({0: Turn(seeds=(5,))}), Step({0: Turn(wrong=1, seeds=(13, 18))}))
    (finding,) = play(Script("mtp", 1, 1, steps)).findings
    assert (finding.expected, finding.got) == ("[13, 18]", "[13, 17]")
    assert "step 3 (step): the seeds are those that the sequence gives" in finding.message
    (finding,) = play(Script("mtp", 1, 1, (Insert(0, (8,)), Step({0: Turn(emits=(0,))})))).findings
    assert "the tokens are those that the sequence gives" in finding.message


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ({"world": NaiveKeepsItsSeeds}, "naive_seed_advances"),
        ({"driver": CutsOneLate()}, "stop_sequence_inside_a_step"),
        ({"world": swapped_at("cut")}, "stop_sequence_in_history"),
        ({"world": swapped_at("match")}, "ngram_of_the_other_layout"),
        ({"world": CountsTheLimitTwice}, "thought_cut_inside_a_step"),
    ],
)
def test_a_kept_chain_shows_the_fault_that_it_is_about(fault, name):
    script = next(scriptfile.read(path) for path in scriptfile.saved() if path.stem == name)
    assert play(script, **fault).findings


def test_preempted_slots_are_taken_again():
    steps = (Insert(0, (8,)), Step(), Step(), Preempt(0), Step(), Insert(0, tuple(WORDS)), Step(), Step())
    played = play(Script("mtp", 1, 2, steps, layout=1))
    assert (played.findings, played.rounds) == ([], 5)
