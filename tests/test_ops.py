"""Every op on every chosen backend: its regression cases, and generated ones."""

import pytest

from opgold.harness.check import run_case, save
from opgold.harness.search import search


def report(findings):
    pytest.fail("\n\n".join(map(str, findings)), pytrace=False)


def test_regression(opgold_case, opgold_backend):
    ran, findings = run_case(opgold_case, opgold_backend)
    if findings:
        report(findings)
    assert ran, "the case was not executed"


def test_generated(opgold_op, opgold_backend, opgold_examples, opgold_seed):
    outcome = search(opgold_op, opgold_backend, opgold_examples, opgold_seed)
    if outcome.case is not None:
        report(save(outcome.case, outcome.findings))
    assert outcome.executed >= opgold_examples // 2, "too few cases were executed"
