"""Which trivial kernels a case can fail; and that no kept case is vacuous."""

import subprocess
import sys

import numpy as np
import pytest
from jaxtyping import Int32

from opgold.harness import casefile
from opgold.harness.case import Case
from opgold.harness.vacuity import KERNELS, power
from opgold.reference import schema


def add(x, *, total, out):
    """Adds `x` to `total`, and gives out its square."""
    total += x
    out[:] = x * x


ROWS = Int32[np.ndarray, "n"]
add.__annotations__ = {"x": schema.In[ROWS], "total": schema.InOut[ROWS], "out": schema.Out[ROWS]}


def add_in_place(x, total):
    total += x


add_in_place.__annotations__ = {"x": schema.In[ROWS], "total": schema.InOut[ROWS]}


@pytest.fixture
def added(monkeypatch):
    """What a case of one of the models above can fail."""
    monkeypatch.setattr("opgold.harness.locate.strategy", lambda op: type("S", (), {"LAYOUT": {}}))

    def added(x, total, model=add):
        monkeypatch.setattr("opgold.harness.case.load", lambda op: schema.signature(model))
        return power(Case("add", {"x": np.array(x, np.int32), "total": np.array(total, np.int32)}))

    return added


def test_a_telling_case_can_fail_every_trivial_kernel(added):
    found = added([3, 5], [10, 20])
    assert found.noticed == tuple(KERNELS)
    assert (found.unnoticed, found.vacuous) == ((), False)


@pytest.mark.parametrize(
    ("x", "total", "unnoticed"),
    [
        ([0, 0], [10, 20], ["in-place arguments unchanged"]),
        ([0, 0], [0, 0], ["in-place arguments unchanged", "zeros", "inputs copied", "first row everywhere"]),
        ([1, 1], [0, 0], ["ones", "inputs copied", "first row everywhere"]),
        ([3, 3], [10, 10], ["first row everywhere"]),
    ],
)
def test_what_a_case_cannot_fail_is_named(added, x, total, unnoticed):
    found = added(x, total)
    assert list(found.unnoticed) == unnoticed
    assert not found.vacuous


def test_a_case_that_a_kernel_passes_which_does_nothing_or_clears_is_vacuous(added):
    found = added([0, 0], [0, 0], add_in_place)
    assert found.vacuous
    assert set(found.noticed) == {"ones", "minus ones"}
    assert str(found).startswith("vacuous: no oracle notices nothing written, zeros, inputs copied")
    assert not added([0, 0], [0, 1], add_in_place).vacuous


def test_a_kernel_that_would_do_what_another_does_is_left_out(added):
    alone = added([3], [10])
    assert "first row everywhere" not in alone.noticed + alone.unnoticed
    in_place = added([3, 5], [10, 20], add_in_place)
    assert "in-place arguments unchanged" not in in_place.noticed + in_place.unnoticed


def test_a_case_without_elements_is_judged_by_its_launch(added):
    found = added([], [])
    assert not found.vacuous
    assert "no element to write" in str(found)


@pytest.mark.parametrize("op", schema.ops())
def test_no_kept_case_is_vacuous_and_one_at_least_can_fail_every_trivial_kernel(op):
    found = {path.stem: power(casefile.read(path)) for path in casefile.regressions(op)}
    assert [f"{name}: {each}" for name, each in found.items() if each.vacuous] == []
    assert any(each.noticed and not each.unnoticed for each in found.values())


def check(*files):
    command = [sys.executable, "-m", "opgold", "case", "check", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_case_check_says_what_each_case_can_fail():
    by_name = {path.stem: path for path in casefile.regressions("get_padding_offset")}
    result = check(by_name["zero_slots_zero_tokens"], by_name["negative_length"])
    assert result.returncode == 0, result.stderr
    assert "  no oracle notices zeros; it can fail nothing written, ones, minus ones" in result.stdout
    assert "  judged by the golden model's refusal and, on a kernel, by the emulator" in result.stdout


def test_case_check_fails_for_a_vacuous_case(tmp_path):
    path = tmp_path / "idle.yaml"
    path.write_text(
        "op: speculate_clear_accept_nums\nwhy: Planted.\n"
        "inputs: {accept_num: [0, 0], seq_lens_decoder: [0, 0]}\nexpect: {accept_num: [0, 0]}\n"
    )
    result = check(path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stdout.count("vacuous: ") == 1
