"""Chains verified by top-p: planted faults, greedy where a list has one candidate, and candidates only elsewhere."""

import numpy as np
import pytest

from opgold.harness.steps import machine, nucleus, scriptfile
from opgold.harness.steps.account import Account
from opgold.harness.steps.play import Player, play
from opgold.harness.steps.request import BOUNDARY
from opgold.harness.steps.script import Insert, Script, Step, Turn
from opgold.harness.steps.toy import END_IDS, probabilities
from opgold.harness.steps.world import World

VERIFY, LIST = "verify_draft_tokens", "top_p_candidates"


class OneTopP(World):
    """Every slot is verified by the first one's top-p."""

    def verify(self):
        op, values = super().verify()
        return op, values | {"topp": np.full_like(self.top_p, self.top_p[0])}


class ListsBeforePenalties(World):
    """Candidates come of the model's own logits, before penalties and bans."""

    def run(self):
        super().run()
        self.raw = self.logits.copy()

    def candidates(self):
        op, values = super().candidates()
        return op, values | {"probs": probabilities(self.raw)}


def every_column_counts(values):
    lens = values["candidate_lens"]
    return values if lens is None else values | {"candidate_lens": np.full_like(lens, values["candidate_ids"].shape[1])}


def first_candidate_always(values):
    return values if values["uniforms"] is None else values | {"uniforms": np.zeros_like(values["uniforms"])}


PLANTED = {  # what is planted, the op that the finding names, and the most steps of a chain that shows it
    "one top-p for all slots": ({"op": LIST, "before": lambda v: v | {"top_p": v["top_p"][:1].repeat(9)}}, LIST, 3),
    "one top-p for all draws": ({"world": OneTopP}, VERIFY, 5),
    "ties to the higher token": (
        {"op": LIST, "after": lambda v, kept: v["verify_tokens"].__setitem__(..., np.sort(v["verify_tokens"], axis=1))},
        LIST,
        2,
    ),
    "candidates before penalties": ({"world": ListsBeforePenalties}, LIST, 4),
    "columns behind a list count": ({"op": VERIFY, "before": every_column_counts}, VERIFY, 8),
    "the first candidate always": ({"op": VERIFY, "before": first_candidate_always}, VERIFY, 3),
    "no window": ({"op": VERIFY, "before": lambda v: v | {"verify_window": 0}}, VERIFY, 8),
    "a window too long": ({"op": VERIFY, "before": lambda v: v | {"verify_window": 9}}, VERIFY, 12),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_found_by_the_account_alone_and_shrinks(planted, seed, find):
    find(*PLANTED[planted], seed)


@pytest.mark.parametrize(
    ("planted", "name"),
    [("no window", "second_candidate_without_its_window"), ("the first candidate always", "drawn_from_the_list")],
)
def test_a_kept_chain_shows_the_fault_that_it_is_about(planted, name, plant):
    script = next(scriptfile.read(path) for path in scriptfile.saved() if path.stem == name)
    assert play(script, **plant(PLANTED[planted][0])).findings


def emitted(script, turn):
    """All that one request emits, and the shares of its steps."""
    player, tokens = Player(script), []
    for step in (Insert(0, (8, 12, 9), max_dec=24, min_dec=24, think=9, reply=6, top_p=0.5), *[Step({0: turn})] * 24):
        assert player.take(step) == []
        tokens = [token for token in player.world.history[0].tolist() if token >= 0]
    return tokens


@pytest.mark.parametrize(
    "how",
    [{"verify": "greedy"}, {"verify": "top_p", "candidates": 6}, {"verify": "top_p", "candidates": 1}],
    ids=["greedy", "lists of one", "room for one"],
)
def test_one_candidate_is_plain_decoding_whatever_is_drafted(how):
    """A top-p of 0.5 is reached by the first candidate alone."""
    plain = emitted(Script("naive", 0, 1), Turn())
    assert len(plain) > 12
    for right in range(4):
        for second in ((), (0,), (1, 2)):
            if not second or max(second) < 3:
                turn = Turn(right, 3 - right, second=second, uniform=1.0)
                assert emitted(Script("mtp", 3, 1, **how), turn) == plain
    assert emitted(Script("ngram", 3, 1, **how), Turn(uniform=1.0)) == plain


def test_what_is_emitted_is_a_candidate_behind_what_stands_before_it(monkeypatch):
    """Weaker than for target match: which candidate it is hangs on the drafts. All ways to accept one are taken."""
    seen, share_of = [], Account._share

    def record(self, slot, turn):
        share = share_of(self, slot, turn)
        seen.append((self.script, share))
        return share

    monkeypatch.setattr(Account, "_share", record)
    for seed in range(3):
        assert machine.search(None, 50, seed).findings == []
    verified = [(script, share) for script, share in seen if share.candidates]
    listed = vouched = drawn = 0
    for script, share in verified:
        assert share.verified
        for place, token in enumerate(share.verified):
            row = share.candidates[place]
            full = len(share.history) + place + 1 == share.request.insert.max_dec
            assert token in row.ids[:2] + row.ids[: row.length] or (full and token == END_IDS[0])
        kept = share.drafts if share.reasoning != BOUNDARY else []
        listed += nucleus.accepted(kept, share.candidates, len(kept) + 1) > 0
        vouched += nucleus.accepted(kept, share.candidates, script.window) > nucleus.accepted(
            kept, share.candidates, len(kept) + 1
        )
        drawn += share.verified[-1] not in (share.candidates[len(share.verified) - 1].ids[0], END_IDS[0])
    assert min(listed, vouched, drawn) > 5
    assert {row.length for _, share in verified for row in share.candidates} >= {0, 1, 2, 4}


def test_a_list_by_hand():
    """Probabilities 1/2, 1/4, 1/8 and so on."""
    ranking = [5, 3, 9, 8]
    assert nucleus.nucleus(ranking, 0.75, 3) == ([5, 3, 0], 2)
    assert nucleus.nucleus(ranking, 0.8, 3) == ([5, 3, 9], 3)
    assert nucleus.nucleus(ranking, 0.9, 3) == ([5, 3, 9], 0)
    assert nucleus.nucleus(ranking, 1.0, 3) == ([5, 3, 9], 3)
    assert nucleus.nucleus(ranking, 1.0, 6) == ([5, 3, 9, 8, -1, -1], 4)
    row = nucleus.nucleus(ranking, 0.8, 3)
    assert [row.draw(uniform, 0.8) for uniform in (0.0, 0.625, 0.6875, 1.0)] == [5, 5, 3, 9]
    rows = [nucleus.nucleus(ranking, 0.9, 3)] * 3
    assert [nucleus.accepted([3, 5, 5], rows, window) for window in (0, 1, 2, 3)] == [1, 2, 3, 0]
    assert nucleus.accepted([3, 3, 5], rows, 1) == 0
    (probabilities_of_row,) = probabilities(np.array([[2, 7, 2, -1e10]], np.float32)).tolist()
    assert probabilities_of_row == [0.25, 0.5, 0.125, 0]
