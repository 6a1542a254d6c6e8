"""Case files: every form reads back, and a mistake is named by file and key."""

import textwrap

import numpy as np
import pytest

from opgold.harness import casefile
from opgold.harness.case import Case
from opgold.harness.locate import strategy
from opgold.harness.runner import run_golden
from opgold.reference import schema

GOOD = """
    op: get_padding_offset
    why: for example
    inputs:
      input_ids: {count: 10, shape: [2, 3]}
      seq_len: [2, 1]
      cpu_token_num: 4
    expect:
      x_remove_padding: [10, 11, 13, 2]
      cu_seqlens_q: {at: {"2": 3}}
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "case.yaml"
        path.write_text(textwrap.dedent(text))
        return path

    return write


def test_forms(write):
    case = casefile.read(write(GOOD))
    assert case.inputs["input_ids"].tolist() == [[10, 11, 12], [13, 14, 15]]
    assert case.inputs["input_ids"].dtype == np.int64
    assert case.expect["cu_seqlens_q"].at == ((2,),)


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("{fill: 7, shape: [3]}", [7, 7, 7]),
        ("{fill: 7, shape: 3, at: {'1': 9}}", [7, 9, 7]),
        ("{repeat: [1, 2], shape: [5]}", [1, 2, 1, 2, 1]),
        ("{count: 5, shape: [3]}", [5, 6, 7]),
        ("[]", []),
    ],
)
def test_generated_arrays(form, values):
    import yaml

    argument = schema.load("get_padding_offset").argument("seq_len")
    array = casefile._array("inputs.seq_len", argument, yaml.safe_load(form), None)
    assert array.tolist() == values
    assert array.dtype == np.int32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("op: get_padding_offset", "op: get_padding", "no op 'get_padding'; did you mean get_padding_offset"),
        ("why: for example", "whi: for example", "unknown key 'whi'"),
        ("seq_len: [2, 1]", "seq_len: [2, 1.5]", "inputs.seq_len: expected integers"),
        ("seq_len: [2, 1]", "seq_len: [2, 4294967296]", "inputs.seq_len: 4294967296 does not fit int32"),
        ("seq_len: [2, 1]", "seq_len: [[2], [1, 1]]", "inputs.seq_len:"),
        ("seq_len: [2, 1]", "seq_len: {full: 2, shape: [2]}", "inputs.seq_len: expected a list, or a mapping with"),
        ("seq_len: [2, 1]", "seq_len: {fill: 2}", "inputs.seq_len: fill needs shape"),
        ("seq_len: [2, 1]", "seq_lens: [2, 1]", "seq_lens: no such input"),
        ("cpu_token_num: 4", "cpu_token_num: four", "cpu_token_num: 'four' is no int"),
        ("[10, 11, 13, 2]", "[10, 11, 13]", "expect.x_remove_padding: shape (3,), expected (4,)"),
        ('{"2": 3}', '{"9": 3}', "expect.cu_seqlens_q: no element (9,) in shape (3,)"),
        ("cu_seqlens_q:", "cu_seqlens:", "expect.cu_seqlens: not written by get_padding_offset"),
        ("inputs:", "refused: x\n    inputs:", "expect and refused exclude each other"),
        ("op: get_padding_offset", "op: [", "no YAML"),
    ],
)
def test_mistakes_are_named(write, old, new, message):
    assert old in GOOD
    path = write(GOOD.replace(old, new))
    with pytest.raises(casefile.CaseError) as error:
        casefile.read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_missing_file(tmp_path):
    with pytest.raises(casefile.CaseError, match="No such file"):
        casefile.read(tmp_path / "none.yaml")


@pytest.mark.parametrize("op", schema.ops())
def test_generated_cases_survive_a_file(op, tmp_path):
    from hypothesis import HealthCheck, given, settings

    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy(op).samples())
    def survives(sample):
        path = tmp_path / "case.yaml"
        before = Case.of(op, sample)
        casefile.write(before, path)
        after = casefile.read(path)
        for name, value in before.inputs.items():
            if isinstance(value, np.ndarray):
                assert after.inputs[name].dtype == value.dtype
                assert after.inputs[name].tobytes() == value.tobytes()
            else:
                assert after.inputs.get(name) == value
        left, right = run_golden(before), run_golden(after)
        assert {n: a.tobytes() for n, a in left.arrays.items()} == {n: a.tobytes() for n, a in right.arrays.items()}

    survives()
