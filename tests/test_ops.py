"""Every op on every chosen backend: its regression cases, and generated ones."""

from opgold.harness.check import run_case, save
from opgold.harness.search import search


def test_regression(opgold_case, opgold_backend, opgold_judge):
    ran, findings = run_case(opgold_case, opgold_backend)
    opgold_judge(opgold_case.op, findings, opgold_case.name if ran else None)
    assert ran, "the case was not executed"


def test_generated(opgold_op_name, opgold_backend, opgold_examples, opgold_seed, opgold_ledger, opgold_judge):
    outcome = search(opgold_op_name, opgold_backend, opgold_examples, opgold_seed, ledger=opgold_ledger)
    if outcome.case is not None:
        opgold_judge(opgold_op_name, save(outcome.case, outcome.findings))
    assert outcome.executed >= opgold_examples // 2, "too few cases were executed"
    opgold_judge(opgold_op_name, outcome.known)
