"""The fixture `opgold_op`: a test that calls a wrong op fails with the finding; one that calls a right one passes."""

import re
from functools import partial
from pathlib import Path

import paddle  # noqa: F401
import pytest

import opgold.paddle  # noqa: F401  (what a test of pytester's is the first to import is taken away again)
from opgold.harness import casefile
from opgold.harness.paddle.call import Call
from opgold.harness.paddle.form import form_of
from opgold.harness.paddle.held import HeldOps
from opgold.harness.runner import arguments

pytest_plugins = ["pytester"]

OP = "speculate_update_seq_lens_this_time"

MODULE = f'''
def {OP}(seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, real_bsz, value):
    """Right, but that it makes a length of 9 one of 0, and takes negative ones."""
    if real_bsz > len(seq_lens_this_time):
        raise ValueError("too many rows")
    lengths = seq_lens_this_time.numpy()
    for slot in range(real_bsz):
        if seq_lens_encoder[slot] == 0:
            lengths[slot] = value if seq_lens_decoder[slot] != 0 and value != 9 else 0
    seq_lens_this_time.set_value(lengths)


def speculate_get_seq_lens_output(seq_lens_this_time, seq_lens_encoder, seq_lens_decoder):
    raise RuntimeError("it cannot")


def rebuild_padding(x):
    return x
'''

TESTS = f'''
import numpy as np
import paddle
import pytest


def ints(*values):
    return paddle.to_tensor(np.array(values, np.int32))


def test_right(opgold_op):
    lengths = ints(1, 2, 3)
    assert opgold_op("{OP}", lengths, ints(0, 0, 7), ints(1, 0, 0), 3, value=4) is None
    assert lengths.tolist() == [4, 0, 3]


def test_refused_by_both(opgold_op):
    with pytest.raises(ValueError):
        opgold_op.{OP}(ints(1), ints(0), ints(1), 2, 4)


def test_wrong(opgold_op):
    opgold_op.{OP}(ints(1, 2), ints(0, 0), ints(1, 0), 2, 9)
'''

FAULTS = f"""

def test_outside(opgold_op):
    opgold_op.{OP}(ints(1, 2), ints(0, -1), ints(1, 0), 2, 4)


def test_misfit(opgold_op):
    opgold_op.{OP}(ints(1, 2).astype("int64"), ints(0, 0), ints(1, 0), 2, 4)


def test_raises(opgold_op):
    opgold_op.speculate_get_seq_lens_output(ints(1), ints(0), ints(1))


def test_takes_other_arguments(opgold_op):
    opgold_op.rebuild_padding(ints(1))


def test_unknown(opgold_op):
    opgold_op.rebuild_paddin(ints(1))


def test_lacking(opgold_op):
    opgold_op.get_padding_offset(ints(1))
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs tests with an op of a module that is written here."""

    def run(text, *options):
        pytester.makepyfile(some_ops=MODULE, test_ops=text)
        pytester.syspathinsert()
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", *options)

    return run


def test_a_wrong_op_fails_with_the_finding_and_a_right_one_passes(run, pytester):
    result = run(TESTS, "--opgold-module", "some_ops")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            f">*opgold_op.{OP}(ints(1, 2), ints(0, 0), ints(1, 0), 2, 9)",
            f"*{OP} · module:some_ops · values",
            "*where     seq_lens_this_time[[]0], slot 0 (decode, 1 token)",
            "*expected  9",
            "*got       0",
            f"*repeat    opgold check --backend module:some_ops --case .opgold/findings/{OP}/values_*.yaml",
        ]
    )
    assert len(list(pytester.path.glob(f".opgold/findings/{OP}/*.yaml"))) == 1


def test_each_fault_of_a_call_is_said(run):
    result = run(TESTS.partition("def test_right")[0] + FAULTS, "--opgold-module", "some_ops", "-rs")
    result.assert_outcomes(failed=5, skipped=1)
    said = result.stdout.str()
    for text in (
        "the call is outside the op's contract, and the op took it",
        f"the test's call does not fit the op, and the op took it: {OP}: seq_lens_this_time: dtype int64",
        "the launcher refuses lawful arguments: RuntimeError: it cannot",
        "rebuild_padding takes other arguments than FastDeploy's call of rebuild_padding",
        "no op 'rebuild_paddin'; did you mean rebuild_padding",
        "module:some_ops does not have get_padding_offset",
    ):
        assert text in said, text


CONFTEST = """
import pytest


@pytest.fixture(scope="session")
def opgold_module():
    return "some_ops"
"""


def test_a_conftest_names_the_module_and_require_makes_what_it_lacks_a_failure(run, pytester):
    pytester.makeconftest(CONFTEST)
    run(TESTS, "-k", "right").assert_outcomes(passed=1, deselected=2)
    faults = TESTS.partition("def test_right")[0] + FAULTS
    run(faults, "-k", "lacking", "--opgold-require").assert_outcomes(failed=1, deselected=5)


def test_opgolds_own_ops_are_the_default(run):
    run(TESTS).assert_outcomes(passed=3)


EXAMPLE = re.search(
    r"### A regression test in a FastDeploy checkout.*?```python\n(.*?)```",
    (Path(__file__).parents[2] / "docs" / "record.md").read_text(),
    re.DOTALL,
)[1]


def test_the_example_of_the_documentation(run, pytester):
    """On opgold's own ops, since FastDeploy's need a device; and, where there are none, skipped with the reason."""
    name = "fastdeploy.model_executor.ops.gpu"
    run(EXAMPLE.replace(name, "opgold.paddle")).assert_outcomes(passed=2)
    skipped = run(EXAMPLE, "-rs")
    skipped.assert_outcomes(skipped=2)
    skipped.stdout.fnmatch_lines([f"*{name} cannot be imported: ModuleNotFoundError*"])
    run(EXAMPLE, "--opgold-require").assert_outcomes(errors=2)


def test_what_the_op_draws_itself_cannot_be_held_to_anything(module):
    class Failed(BaseException):
        pass

    def fail(text):
        raise Failed(text)

    def draw(*given):
        return None

    op = "verify_draft_tokens"
    case = casefile.read(next(p for p in casefile.regressions(op) if "uniforms:" in p.read_text()))
    draw.__signature__ = module.right(op).__signature__
    backend = module(**{op: draw})
    held = HeldOps(backend, fail, fail)
    with pytest.raises(Failed, match="cannot be held to the golden model: the op makes uniforms itself"):
        Call(form_of(op), arguments(case, 0)).make(partial(held, op), backend.bound(op)[1])


@pytest.mark.parametrize(("name", "said"), [("no_such_ops", "cannot be imported"), ("", "a module's name follows")])
def test_a_module_that_cannot_be_had_is_said(run, name, said):
    result = run(TESTS, "--opgold-module", name, "--opgold-require")
    assert result.ret == 1
    assert said in result.stdout.str()
    assert "passed" not in result.stdout.str()
