"""Generated cases: as many as asked for, another sequence for each op and seed, shrunk when one fails."""

import numpy as np

from opgold.harness import casefile
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.check import run_case, save
from opgold.harness.search import search


class Recording(GoldenBackend):
    def __init__(self):
        self.seen = []

    def spoil(self, values, outputs, variant):
        if variant.schedule == "ascending":
            self.seen.append(values["seq_len"].tobytes())


def test_every_example_is_executed_and_some_are_hostile():
    backend = Recording()
    outcome = search("get_padding_offset", backend, 60)
    assert outcome.executed == 60
    assert 0 < outcome.hostile < 30
    assert outcome.findings == []
    assert len(set(backend.seen)) > 20


def test_the_sequence_hangs_on_the_seed():
    first, again, other = Recording(), Recording(), Recording()
    search("get_padding_offset", first, 20, seed=1)
    search("get_padding_offset", again, 20, seed=1)
    search("get_padding_offset", other, 20, seed=2)
    assert first.seen == again.seen
    assert first.seen != other.seen


def test_a_fault_shrinks_to_few_slots_and_its_saved_case_shows_it_again(tmp_path):
    class Shifted(GoldenBackend):
        def spoil(self, values, outputs, variant):
            outputs["batch_id_per_token"][outputs["batch_id_per_token"] == 1] = 0

    outcome = search("get_padding_offset", Shifted(), 200)
    assert len(outcome.case.inputs["seq_len"]) == 2
    assert np.sum(outcome.case.inputs["seq_len"]) <= 2
    (finding,) = save(outcome.case, outcome.findings, tmp_path)
    assert finding.oracle == "values"
    ran, findings = run_case(casefile.read(finding.saved), Shifted())
    assert ran
    assert [f.message for f in findings] == [finding.message]
