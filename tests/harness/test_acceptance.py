"""Drafts are accepted often enough in what is generated, and the report says how often."""

import io
from collections import defaultdict
from random import Random

import hypothesis
import pytest
from rich.console import Console

from opgold.cases import verify_rows
from opgold.harness import report, search
from opgold.harness.acceptance import Acceptance
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.check import check_named
from opgold.harness.runner import Trial, run_golden
from opgold.harness.session import Checked
from opgold.harness.steps import machine
from opgold.harness.steps.play import play
from opgold.harness.steps.script import VERIFICATIONS

RARE = 0.3  # of the slots with drafts: fewer that accept any put verification little to the test
MODES = {
    "verify_draft_tokens": ("verify_strategy",),
    "speculate_verify": ("use_target_sampling", "enable_topp"),
}


def by_mode(op):
    """Acceptance in the generated cases of an op, for each way in which it verifies."""
    found = defaultdict(Acceptance)

    @search.generating(max_examples=500, phases=(hypothesis.Phase.generate,))
    @hypothesis.seed(0)
    @hypothesis.given(search.cases(op))
    def collect(case):
        mode = tuple(case.inputs[name] for name in MODES[op]) if case.refused is None else ()
        slots = list(search.accepted(Trial(case, run_golden(case), GoldenBackend(), [])))
        found[mode].add(slots[:8])  # so that no large batch outweighs all other cases

    collect()
    assert found.pop((), Acceptance()).slots == 0, "hostile cases do not count"
    return found


def rare(acceptance):
    assert acceptance.slots >= 50
    return 1 - acceptance.fractions["none"] < RARE


@pytest.mark.parametrize("op", MODES)
def test_every_way_of_verifying_accepts_some_drafts(op):
    modes = by_mode(op)
    assert len(modes) >= 3
    assert {mode: str(acceptance) for mode, acceptance in modes.items() if rare(acceptance)} == {}
    for acceptance in modes.values():
        assert all(fraction > 0.02 for fraction in acceptance.fractions.values()), acceptance


@pytest.mark.parametrize("op", MODES)
def test_a_strategy_whose_drafts_are_almost_always_rejected_is_noticed(op, monkeypatch):
    monkeypatch.setattr(verify_rows, "accept", lambda row, drafts, count, window, rng: None)
    assert any(rare(acceptance) for acceptance in by_mode(op).values())


def test_chains_accept_some_drafts_whatever_makes_and_verifies_them():
    found, rng = defaultdict(Acceptance), Random(0)
    for _ in range(200):
        script = machine.script_of(rng)
        accepted = play(script).accepted
        found[script.method] += accepted
        found[script.verify] += accepted
    assert found.pop("naive").slots == 0
    assert set(found) == {"mtp", "ngram", "hybrid", *VERIFICATIONS}
    assert {name: str(acceptance) for name, acceptance in found.items() if rare(acceptance)} == {}


def test_counts_and_words():
    acceptance = Acceptance()
    acceptance.add([(4, 0), (4, 4), (4, 1), (4, 3), (1, 1)])
    other = Acceptance()
    other.add([(2, 0)] * 3)
    acceptance += other
    assert str(acceptance) == "8 slots with drafts, accepted: none 50 %, some 25 %, all 25 %"
    assert acceptance.as_json() == {"slots": 8, "none": 0.5, "some": 0.25, "all": 0.25}
    assert Acceptance().fractions == {"none": 0, "some": 0, "all": 0}


@pytest.mark.parametrize("name", ["verify_draft_tokens", "target_steps"])
def test_the_report_tells_how_often(name):
    results = [check_named(name, GoldenBackend(), 20, 0), check_named("get_padding_offset", GoldenBackend(), 5, 0)]
    shown = io.StringIO()
    report.show(Console(file=shown, width=60), [Checked("golden", results)], 0)
    assert f"\n{name}: {results[0].accepted}\n" in shown.getvalue()
    assert "get_padding_offset: " not in shown.getvalue()
    (backend,) = report.as_json([Checked("golden", results)], 0, 0)["backends"]
    assert [op["accepted"] for op in backend["ops"]] == [results[0].accepted.as_json(), None]
