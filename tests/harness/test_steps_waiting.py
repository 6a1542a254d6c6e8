"""Chains in which prompts run in chunks and slots wait for cache blocks: planted faults, and what a slot keeps."""

import numpy as np
import pytest

from opgold.harness.steps import scriptfile
from opgold.harness.steps.play import Player, play
from opgold.harness.steps.script import METHODS, Block, Insert, Preempt, Resume, Script, Step, Turn
from opgold.harness.steps.world import World

UPDATE, SCHEDULE, RECOVER = "unified_update_model_status", "speculate_schedule_cache", "recover_decode_task"


def pack_drafts_of_later_chunks(values, kept):
    """A slot with a cached length is taken for one that decodes."""
    for slot in np.flatnonzero((values["seq_lens_encoder"] > 0) & (values["seq_lens_decoder"] > 0)):
        values["ids_remove_padding"][values["cu_seqlens_q"][slot]] = values["draft_tokens"][slot, 0]


def forget_earlier_chunks(values, kept):
    later = kept["seq_lens_encoder"] > 0
    values["seq_lens_decoder"][later] = kept["seq_lens_encoder"][later]


def clear_stopped_steps(values, kept):
    values["step_idx"][kept["stop_flags"]] = 0


def save_one_less(values, kept):
    values["step_seq_lens_decoder"] -= values["is_block_step"] & ~kept["is_block_step"]


def give_void_tokens(values, kept):
    values["accept_num"][:] = np.where(values["is_block_step"], values["accept_num"], kept["accept_num"])


def keep_idle_seeds(values, kept):
    idle = np.flatnonzero(np.diff(values["cu_seqlens_q_output"]) == 0)
    values["infer_seed"][idle] = kept["infer_seed"][idle]


class KeepsVoidEnds(World):
    """Nobody takes an end token back that was sampled before the prompt's end."""

    def take_back(self, share):
        return None


class CountsVoidTokens(World):
    """The next chunk enters, and the step stays."""

    def chunk(self, share):
        step = self.step[share.slot] if share.cached else 0
        super().chunk(share)
        self.step[share.slot] = step


class LimitsCountOn(World):
    """What the limits have counted before the prompt's end stays."""

    def chunk(self, share):
        status = self.limit_status[share.slot] if share.cached else 0
        super().chunk(share)
        self.limit_status[share.slot] = status


class ForgetsBlocks(World):
    """Insertion and preemption leave the mark of a blocked slot to the next request."""

    def chunk(self, share):
        blocked = bool(self.blocked[share.slot])
        super().chunk(share)
        self.blocked[share.slot] = blocked

    def preempt(self, step):
        blocked = bool(self.blocked[step.slot])
        super().preempt(step)
        self.blocked[step.slot] = blocked


PLANTED = {  # what is planted, the op that the finding names, and the most steps of a chain that shows it
    "drafts packed for a later chunk": (
        {"op": "speculate_pre_process", "after": pack_drafts_of_later_chunks},
        "speculate_pre_process",
        3,
    ),
    "earlier chunks forgotten": ({"op": UPDATE, "after": forget_earlier_chunks}, UPDATE, 3),
    "void tokens given away": ({"op": SCHEDULE, "after": give_void_tokens}, SCHEDULE, 2),
    "void ends given away": ({"world": KeepsVoidEnds}, SCHEDULE, 2),
    "void tokens counted": ({"world": CountsVoidTokens}, "speculate_get_token_penalty_multi_scores", 3),
    "void tokens count for limits": ({"world": LimitsCountOn}, (UPDATE, "speculate_update"), 8),
    "blocked slots lose their step": ({"op": UPDATE, "after": clear_stopped_steps}, UPDATE, 4),
    "wrong length saved": ({"op": SCHEDULE, "after": save_one_less}, SCHEDULE, 3),
    "recovered without a block": (
        {"op": RECOVER, "before": lambda v: v | {"block_tables": np.maximum(v["block_tables"], 0)}},
        RECOVER,
        4,
    ),
    "seeds of waiting slots stand still": (
        {"op": "build_sampling_params", "after": keep_idle_seeds},
        "build_sampling_params",
        4,
    ),
    "mark of a block outlives its request": ({"world": ForgetsBlocks}, RECOVER, 8),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_found_by_the_account_alone_and_shrinks(planted, seed, find):
    find(*PLANTED[planted], seed)


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        ("earlier chunks forgotten", "prompt_in_chunks"),
        ("void ends given away", "end_sampled_inside_a_prompt"),
        ("void tokens count for limits", "thought_counted_from_the_prompts_end"),
        ("recovered without a block", "blocked_while_another_runs"),
    ],
)
def test_a_kept_chain_shows_the_fault_that_it_is_about(planted, name, plant):
    script = next(scriptfile.read(path) for path in scriptfile.saved() if path.stem == name)
    assert play(script, **plant(PLANTED[planted][0])).findings


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layout", [0, 1])
def test_neither_chunks_nor_waiting_change_what_is_emitted(method, layout):
    """The same request at once, in chunks of every size, and held up behind every step."""
    prompt, drafts = (8, 12, 9, 11, 10, 8), 0 if method == "naive" else 2

    def text(chunk=0, hold=0):
        request = Insert(0, prompt, max_dec=20, min_dec=20, think=9, reply=6, chunk=chunk)
        script = Script(method, drafts, 2, layout=layout)
        player, steps = Player(script), 0
        assert player.take(request) == []
        assert player.take(Insert(1, (9, 8), max_dec=40, min_dec=40)) == []
        while 0 in player.account.requests:
            assert player.take(Step({slot: Turn(1, 1) for slot in (0, 1) if drafts})) == []
            steps += 1
            if steps == hold and 0 in player.account.requests:
                for step in (Block(0), Step(), Step(), Resume(0)):
                    assert player.take(step) == []
        return player.world.history[0].tolist(), steps

    plain, steps = text()
    assert len([token for token in plain if token >= 0]) > len(prompt) + 8
    assert all(text(chunk)[0] == plain for chunk in range(1, len(prompt) + 1))
    assert all(text(hold=hold)[0] == plain for hold in range(1, steps))


def test_a_blocked_request_can_leave_and_its_slot_is_taken_again():
    steps = (Insert(0, (8,)), Step(), Block(0), Step(), Preempt(0), Insert(0, (9, 10), chunk=1), Step(), Step(), Step())
    played = play(Script("mtp", 1, 2, steps))
    assert (played.findings, played.rounds) == ([], 5)


def test_blocks_that_come_and_go_between_two_steps():
    steps = (Insert(0, (8,)), Step(), Block(0), Resume(0), Block(0), Step(), Resume(0), Step({0: Turn(1)}), Step())
    played = play(Script("mtp", 1, 1, steps))
    assert (played.findings, played.rounds) == ([], 4)
