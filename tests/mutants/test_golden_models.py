"""Mutants of golden models are caught by refusals, literal values and relations, and by these alone."""

import numpy as np
import pytest

from opgold.harness import casefile
from opgold.harness.case import Case
from opgold.harness.gates.mutation import golden, golden_limits
from opgold.harness.gates.mutation.golden_code import mutated
from opgold.harness.gates.mutation.golden_mutants import sites
from opgold.harness.gates.mutation.verdict import GOLDEN, TIMEOUT, Task
from opgold.harness.runner import run_golden

OP = "speculate_get_seq_lens_output"


@pytest.fixture(autouse=True)
def _unlimited(monkeypatch):
    """The limit of memory is for a process of its own."""
    monkeypatch.setattr(golden, "limit_memory", lambda: None)


def verdicts(case, op=OP):
    task = Task(op, GOLDEN, 0, 0, alone=case)
    mutants = golden.listed(op)
    models = golden.Models(task, mutants)
    assert models.findings == []
    return {site.mutant: models.examine(i) for i, site in enumerate(sites(op))}


def lengths(this, enc, dec=None):
    names = ("seq_lens_this_time", "seq_lens_encoder", "seq_lens_decoder")
    arrays = (this, enc, dec or [5] * len(this))
    return {name: np.array(array, np.int32) for name, array in zip(names, arrays, strict=True)}


def test_a_weak_case_leaves_survivors_and_one_with_literal_values_does_not():
    own = [site.mutant for site in sites(OP) if site.mutant.file.stem == OP]
    weak = verdicts(Case(OP, lengths([0], [0]), relations=False))
    assert not any(weak[mutant].caught for mutant in own if mutant.operator == "dropped statement")
    telling = next(path for path in casefile.regressions(OP) if casefile.read(path).expect)
    strong = verdicts(casefile.read(telling))
    caught = {mutant for mutant in own if strong[mutant].caught}
    assert any(strong[mutant].caught == "expect" for mutant in caught)
    assert len(caught) > sum(bool(weak[mutant].caught) for mutant in own)


def test_a_mutant_is_not_compared_with_the_model_itself():
    """No literal values and no relations: a wrong value is nobody's finding."""
    case = Case(OP, lengths([3, 1], [0, 0]), relations=False)
    unmutated = run_golden(case).arrays["seq_lens_output"]
    for site in sites(OP):
        with mutated(site):
            changed = run_golden(case)
        if changed.arrays and (changed.arrays["seq_lens_output"] != unmutated).any():
            assert verdicts(case)[site.mutant].caught == ""
            break
    else:
        pytest.fail("no mutant gives another value")


def test_code_is_put_back():
    case = Case(OP, lengths([3, 1], [0, 0]))
    before = run_golden(case).arrays["seq_lens_output"]
    for site in sites(OP):
        with mutated(site):
            run_golden(case)
    assert (run_golden(case).arrays["seq_lens_output"] == before).all()


def test_only_cases_that_run_the_line_are_tried():
    found = verdicts(Case(OP, lengths([0], [0])))
    helpers = [verdict for mutant, verdict in found.items() if mutant.file.stem == "_contract"]
    assert {0} < {verdict.reached for verdict in helpers} <= {0, 1}
    assert all(verdict.caught == "" for verdict in helpers if not verdict.reached)


def test_an_endless_loop_is_stopped():
    def loop():
        while True:
            pass

    with pytest.raises(golden_limits.OutOfTime), golden_limits.time_limit(0.05):
        loop()


def test_a_mutant_that_loops_is_caught_by_its_time(monkeypatch):
    monkeypatch.setattr(golden, "LEAST_LIMIT", 0.1)
    monkeypatch.setattr(golden, "PATIENCE", 0.0)
    op = "speculate_verify"
    places = [(site.function, site.mutant.before, site.mutant.after) for site in sites(op)]
    looping = places.index(("listed", "i += 1", "pass"))
    for path in casefile.regressions(op):
        case = casefile.read(path)
        models = golden.Models(Task(op, GOLDEN, 0, 0, alone=case), golden.listed(op))
        verdict = models.examine(looping)
        if verdict.caught == TIMEOUT:
            return
    pytest.fail("no case runs the loop")
