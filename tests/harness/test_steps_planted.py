"""Faults planted in ops, layouts and seeds are found, shrunk, saved and shown again."""

import itertools

import numpy as np
import pytest

from opgold.harness.steps import machine, scriptfile
from opgold.harness.steps.play import play
from opgold.harness.steps.script import Insert, Script, Step, Turn
from opgold.harness.steps.toy import END_IDS
from opgold.harness.steps.world import World

CHAINS = 50  # what the default profile plays


def count_one_less(values, kept):
    values["step_idx"] -= values["step_idx"] > kept["step_idx"]


def forget_the_last_token(values, kept):
    """The next step's input is the token before the last."""
    long = np.flatnonzero(values["step_output_len"] > 1)
    values["step_input_ids"][long, 0] = values["step_output_ids"][long, values["step_output_len"][long] - 2]


def cut_one_late(values, kept):
    for slot in np.flatnonzero((values["accept_tokens"] != kept["accept_tokens"]).any(axis=1)):
        count = values["accept_num"][slot]
        if count < kept["accept_num"][slot]:
            values["accept_tokens"][slot, count - 1] = kept["accept_tokens"][slot, count - 1]
            values["accept_tokens"][slot, count] = END_IDS[0]
            values["accept_num"][slot] = count + 1


def accept_one_more(values, kept):
    more = (values["step_output_len"] > 0) & (values["step_output_len"] < values["step_output_ids"].shape[1])
    values["step_output_len"] += more


def share_seeds(values, kept):
    for first, end in itertools.pairwise(values["cu_seqlens_q_output"]):
        values["topp_seed"][first:end] = values["topp_seed"][first : first + 1]


def overwrite_model_drafts(values, kept):
    """Drafts found in the text go to the first columns."""
    for slot, (first, end) in enumerate(zip(kept["seq_lens_this_time"], values["seq_lens_this_time"], strict=True)):
        values["draft_tokens"][slot, 1 : 1 + end - first] = values["draft_tokens"][slot, first:end].copy()


def cache_all_that_ran(values, kept):
    decodes = (kept["seq_lens_encoder"] == 0) & ~kept["stop_flags"]
    this = np.pad(kept["seq_lens_this_time"], (0, len(decodes) - len(kept["seq_lens_this_time"])))
    values["seq_lens_decoder"][decodes] = (kept["seq_lens_decoder"] + this)[decodes]


def roll_nothing_back(values, kept):
    values["mask_rollback"][:] = 0


LEGACY, WRITE = "speculate_update", "speculate_set_value_by_flags_and_idx"
UPDATE, CUT = "unified_update_model_status", "speculate_set_stop_value_multi_seqs"
WRITES_ONE_OFF = {"op": UPDATE, "before": lambda v: v | {"prompt_lens": np.maximum(v["prompt_lens"] - 1, 0)}}
CUTS_ONE_LATE = {"op": CUT, "after": cut_one_late}
ACCEPTS_ONE_MORE = {"op": "verify_draft_tokens", "after": accept_one_more}
SHARES_SEEDS = {"op": "build_sampling_params", "after": share_seeds}
OF_AN_OLD_END = {"op": "ngram_match", "before": lambda v: v | {"step_idx": np.maximum(v["step_idx"] - 1, 0)}}


class SwappedAtTheWriter(World):
    def update(self):
        op, values = super().update()
        return op, values | {"history_layout": 1 - self.script.layout}


def swapped_at(reader, method=None):
    """A server that reads history in the other layout than it was written in, for one method or all."""

    class Swapped(World):
        pass

    def call(self):
        op, values = getattr(World, reader)(self)
        return op, values | ({"history_layout": 1 - self.script.layout} if method in (None, self.script.method) else {})

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


class ForgetsToCount(World):
    """The older update gets slots that have ended, but no step that has counted their tokens."""

    def finish(self):
        step = self.step.copy()
        super().finish()
        self.step[:] = step


class CountsTheLimitTwice(World):
    """The limit works on the step that the update then adds to."""

    def limit(self):
        op, values = super().limit()
        self.step += self.accept_num
        self.counted = self.step
        return op, values | {"step_idx": self.step}


PLANTED = {  # what is planted, the op that the finding names, and the most steps of a chain that shows it
    "history one off": (WRITES_ONE_OFF, UPDATE, 2),
    "step too low": ({"op": UPDATE, "after": count_one_less}, UPDATE, 2),
    "wrong next input": ({"op": UPDATE, "after": forget_the_last_token}, UPDATE, 6),
    "stop sequence cuts one late": (CUTS_ONE_LATE, CUT, 10),
    "a rejected draft emitted": (ACCEPTS_ONE_MORE, "verify_draft_tokens", 2),
    "n-gram of an old end": (OF_AN_OLD_END, "ngram_match", 12),
    "layout swapped at the writer": ({"world": SwappedAtTheWriter}, UPDATE, 2),
    "layout swapped at the penalty": (
        {"world": swapped_at("penalty")},
        "speculate_get_token_penalty_multi_scores",
        3,
    ),
    "layout swapped at the stop sequences": ({"world": swapped_at("cut")}, CUT, 12),
    "layout swapped at reasoning": ({"world": swapped_at("reason")}, "reasoning_phase_token_constraint", 9),
    "layout swapped at the n-gram": ({"world": swapped_at("match", "ngram")}, "ngram_match", 12),
    "layout swapped at the hybrid": ({"world": swapped_at("match", "hybrid")}, "hybrid_mtp_ngram", 12),
    "shorter ends in the hybrid": (
        {"op": "hybrid_mtp_ngram", "before": lambda v: v | {"min_ngram_size": 1}},
        "hybrid_mtp_ngram",
        12,
    ),
    "n-gram drafts in place of the model's": (
        {"op": "hybrid_mtp_ngram", "after": overwrite_model_drafts},
        "hybrid_mtp_ngram",
        14,
    ),
    "layout swapped at the hybrid's history": (
        {"world": swapped_at("write_emitted")},
        WRITE,
        2,
    ),
    "layout swapped at the older writer": ({"world": swapped_at("write")}, WRITE, 2),
    "drafts cached that were rejected": ({"op": LEGACY, "after": cache_all_that_ran}, LEGACY, 3),
    "rejected drafts not rolled back": ({"op": LEGACY, "after": roll_nothing_back}, LEGACY, 3),
    "step not counted for the older update": ({"world": ForgetsToCount}, WRITE, 2),
    "naive seed not advanced": ({"world": NaiveKeepsItsSeeds}, "build_sampling_params", 2),
    "naive seed not kept": ({"world": NaiveSeedsWithoutTheOp}, "build_sampling_params", 2),
    "naive seed put back": ({"world": NaiveSeedsPutBack}, "build_sampling_params", 4),
    "seed advanced twice": ({"world": AdvancesTwice}, "build_sampling_params", 3),
    "seed shared by two rows": (SHARES_SEEDS, "build_sampling_params", 6),
    "step counted twice": ({"world": CountsTheLimitTwice}, "speculate_limit_thinking_content_length", 2),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_found_by_the_account_alone_and_shrinks(planted, seed, find):
    find(*PLANTED[planted], seed)


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ("naive seed not advanced", "a step advances a slot's seed once"),
        ("naive seed put back", "no two consecutive steps share a seed"),
        ("seed advanced twice", "a row's seed is its slot's and four a row"),
        ("seed shared by two rows", "no two rows of a step share a seed"),
    ],
)
def test_a_finding_says_what_is_wrong_with_a_seed(planted, rule, plant):
    method, drafts = ("naive", 0) if planted.startswith("naive") else ("mtp", 1)
    steps = (Insert(0, (8,)), *[Step({0: Turn(drafts)})] * 3)
    (finding,) = play(Script(method, drafts, 1, steps), **plant(PLANTED[planted][0])).findings
    assert finding.message.endswith(rule)


@pytest.mark.parametrize(
    "fault",
    [WRITES_ONE_OFF, CUTS_ONE_LATE, ACCEPTS_ONE_MORE, SHARES_SEEDS, OF_AN_OLD_END],
    ids=lambda fault: fault["op"],
)
def test_a_kernel_with_the_fault_departs_from_the_golden_model(fault, plant):
    outcome = machine.search(plant(fault)["driver"], CHAINS)
    assert {finding.backend for finding in outcome.findings} == {"planted"}
    assert outcome.findings[0].op == fault["op"]
    assert "another value" in outcome.findings[0].message


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ({"world": NaiveKeepsItsSeeds}, "naive_seed_advances"),
        (CUTS_ONE_LATE, "stop_sequence_inside_a_step"),
        ({"world": swapped_at("cut")}, "stop_sequence_in_history"),
        ({"world": swapped_at("match")}, "ngram_of_the_other_layout"),
        ({"world": CountsTheLimitTwice}, "thought_cut_inside_a_step"),
        (PLANTED["n-gram drafts in place of the model's"][0], "hybrid_drafts_behind_the_models"),
        ({"world": swapped_at("write_emitted")}, "hybrid_drafts_behind_the_models"),
    ],
)
def test_a_kept_chain_shows_the_fault_that_it_is_about(fault, name, plant):
    script = next(scriptfile.read(path) for path in scriptfile.saved() if path.stem == name)
    assert play(script, **plant(fault)).findings
