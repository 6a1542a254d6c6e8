"""Mutants of a kernel under single cases: which are run, which oracle catches them, what is asked of hostile ones."""

from collections import defaultdict
from dataclasses import replace

import pytest

from opgold.harness import casefile
from opgold.harness.gates.mutation import kernels
from opgold.harness.gates.mutation.build import Build
from opgold.harness.gates.mutation.driver import _is_shared, _next
from opgold.harness.gates.mutation.suite import Ruled, suite
from opgold.harness.gates.mutation.verdict import ELSEWHERE, GOLDEN, TIMEOUT, Judged, Side, Task, Verdict
from opgold.harness.oracles import HOSTILE

OP, TARGET = "get_padding_offset", "cuda-emu"
CASES = {path.stem: path for path in casefile.regressions(OP)}


def under(name):
    """The kernel's mutants under one kept case."""
    task = Task(OP, TARGET, 0, 0, alone=casefile.read(CASES[name]))
    return kernels.Kernels(task, kernels.listed(OP, TARGET))


@pytest.fixture(scope="module")
def judged():
    """Mutants by operator, with what came of them under a case of many slots."""
    found = defaultdict(list)
    mutants = under("slots_257")
    for index in range(len(mutants.mutants)):
        verdict = mutants.examine(index)
        found[verdict.mutant.operator].append(verdict)
    assert mutants.findings == []
    return found


def test_a_wrong_value_is_caught_by_values_and_a_wrong_bound_by_the_bounds(judged):
    assert "values" in {verdict.caught for verdict in judged["arithmetic"]}
    ways = {verdict.caught for verdicts in judged.values() for verdict in verdicts}
    assert {"values", "bounds", TIMEOUT} <= ways


def test_what_survives_the_plain_build_is_tried_on_the_one_that_watches(judged):
    """Only that one sees races."""
    assert "race" in {verdict.caught for verdicts in judged.values() for verdict in verdicts}


def test_what_makes_no_difference_is_not_caught(judged):
    everything = [verdict for verdicts in judged.values() for verdict in verdicts]
    silent = [verdict for verdict in everything if not verdict.infected]
    assert silent
    assert {verdict.caught for verdict in silent} == {""}
    assert all(verdict.case == "slots_257" for verdict in everything if verdict.caught)


def test_a_mutant_that_makes_no_difference_is_not_run(monkeypatch):
    mutants = under("zero_slots_zero_tokens")
    silent = next(index for index in range(len(mutants.mutants)) if not mutants.blank(index).infected)
    monkeypatch.setattr(Build, "try_mutant", lambda self, number, call: pytest.fail("it is run"))
    assert mutants.examine(silent).caught == ""


def test_on_hostile_inputs_only_what_must_still_hold_is_asked():
    mutants = under("negative_length")
    caught = {mutants.examine(index).caught for index in range(len(mutants.mutants))}
    assert caught - {""}
    assert caught <= {"", TIMEOUT, *HOSTILE}


def test_a_case_that_the_unmutated_kernel_fails_judges_nothing(monkeypatch):
    (right,) = suite(Task(OP, TARGET, 0, 0, alone=casefile.read(CASES["slots_257"])))
    shifted = {name: array + 1 for name, array in right.golden.arrays.items()}
    wrong = Ruled(right.case, replace(right.golden, arrays=shifted))
    monkeypatch.setattr(kernels, "suite", lambda task: (wrong,))
    mutants = kernels.Kernels(Task(OP, TARGET, 0, 0), kernels.listed(OP, TARGET))
    assert {finding.oracle for finding in mutants.findings} == {"values"}
    assert mutants.blank(0).reached == 0


def test_a_process_goes_on_with_the_op_whose_cases_it_has():
    tasks = [Task(op, side, 0, 0) for op in ("one", "two") for side in (TARGET, GOLDEN)]
    assert _next(tasks, "two", {"one"}) == tasks[2]
    assert _next(tasks, "", {"one"}) == tasks[2]
    assert _next(tasks, "three", {"one", "two"}) == tasks[0]


def test_what_one_op_catches_in_a_file_of_several_others_need_not_try():
    mutant = kernels.listed(OP, TARGET)[0]
    headers = [m for m in kernels.listed(OP, TARGET) if m.file.stem != OP]
    for each, caught, shared in ((headers[0], "values", True), (headers[0], "", False), (headers[0], ELSEWHERE, False)):
        assert _is_shared(Judged(Side(OP, TARGET), Verdict(each, 1, 1, caught))) == shared
    assert mutant.file.stem == OP
    assert not _is_shared(Judged(Side(OP, TARGET), Verdict(mutant, 1, 1, "values")))
