"""Each oracle catches its fault, planted in a backend that otherwise computes as the golden model does."""

from dataclasses import replace

import numpy as np
import pytest

from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.case import Case, Expected
from opgold.harness.oracles import judge
from opgold.harness.oracles.values import agree
from opgold.harness.runner import try_case
from opgold.kernels.report import Fault, Place, Report
from opgold.reference import schema


def case(**changes):
    inputs = {
        "input_ids": np.arange(10, 22, dtype=np.int64).reshape(3, 4),
        "seq_len": np.array([2, 0, 3], np.int32),
        "cpu_token_num": 7,
    }
    return Case("get_padding_offset", inputs | changes)


def found(backend, tried=None):
    return list(judge(try_case(tried or case(), backend)))


def oracles(backend, tried=None):
    return {finding.oracle for finding in found(backend, tried)}


def test_a_faithful_backend_is_silent():
    assert found(GoldenBackend()) == []


def test_wrong_value_names_slot_element_and_both_values():
    class Wrong(GoldenBackend):
        def spoil(self, values, outputs, variant):
            outputs["x_remove_padding"][3] += 1

    (finding,) = found(Wrong())
    assert (finding.oracle, finding.argument, finding.index) == ("values", "x_remove_padding", (3,))
    assert (finding.expected, finding.got) == ("19", "20")
    assert finding.slot == "slot 2 (3 tokens), row 1 of the slot"


def test_missing_write_is_a_footprint():
    class Lazy(GoldenBackend):
        def call(self, signature, values, variant):
            before = values["batch_id_per_token"].copy()
            report = super().call(signature, values, variant)
            values["batch_id_per_token"][5:] = before[5:]
            return report

    (finding,) = found(Lazy())
    assert (finding.oracle, finding.index, finding.count) == ("footprint", (5,), 2)
    assert finding.slot == "the tail behind the last slot"


def test_stray_write_where_the_golden_model_leaves_the_output_alone(monkeypatch):
    def partial(x, *, out):
        out[:-1] = x[:-1]

    partial.__annotations__ = {
        "x": schema.In[schema.Hidden[np.ndarray, "n"]],
        "out": schema.Out[schema.Hidden[np.ndarray, "n"]],
    }
    monkeypatch.setattr("opgold.harness.case.load", lambda op: schema.signature(partial))
    monkeypatch.setattr("opgold.harness.oracles.metamorphic.strategy", lambda op: type("S", (), {"RELATIONS": ()}))
    monkeypatch.setattr("opgold.harness.locate.strategy", lambda op: type("S", (), {"LAYOUT": {}}))

    class Stray(GoldenBackend):
        def spoil(self, values, outputs, variant):
            outputs["out"][-1] = 5

    tried = Case("partial", {"x": np.arange(4, dtype=np.float32)})
    assert found(GoldenBackend(), tried) == []
    (finding,) = found(Stray(), tried)
    assert (finding.oracle, finding.index) == ("footprint", (3,))
    assert finding.got.startswith("5 ")


def test_changed_input():
    class Mutating(GoldenBackend):
        def spoil(self, values, outputs, variant):
            values["seq_len"][1] = 9

    (finding,) = found(Mutating())
    assert (finding.oracle, finding.argument, finding.index) == ("inputs", "seq_len", (1,))


def test_result_that_depends_on_poison():
    class Garbage(GoldenBackend):
        def spoil(self, values, outputs, variant):
            outputs["cu_seqlens_k"][1] += variant.poison

    assert oracles(Garbage()) == {"uninitialised"}


@pytest.mark.parametrize(("attribute", "message"), [("schedule", "order of threads"), ("shift", "alignment")])
def test_result_that_depends_on_order_or_alignment(attribute, message):
    class Depends(GoldenBackend):
        def spoil(self, values, outputs, variant):
            usual = {"schedule": "ascending", "shift": 0}[attribute]
            outputs["cu_seqlens_q"][1] += getattr(variant, attribute) != usual

    findings = found(Depends())
    assert {finding.oracle for finding in findings} == {"schedule"}
    assert message in findings[0].message


def test_result_that_changes_from_run_to_run():
    class Flaky(GoldenBackend):
        calls = 0

        def spoil(self, values, outputs, variant):
            self.calls += 1
            outputs["cu_seqlens_q"][1] += self.calls == 2

    findings = found(Flaky())
    assert [finding.oracle for finding in findings] == ["schedule"]
    assert "run to run" in findings[0].message


def test_moved_argument():
    class Moving(GoldenBackend):
        def spoil(self, values, outputs, variant):
            return Report(error=None, seconds=0, given={"cu_seqlens_q": 4096}, addresses={"cu_seqlens_q": 8192})

    (finding,) = found(Moving())
    assert (finding.oracle, finding.argument, finding.expected, finding.got) == (
        "address",
        "cu_seqlens_q",
        "0x1000",
        "0x2000",
    )


@pytest.mark.parametrize(
    ("kind", "oracle"),
    [
        ("bounds", "bounds"),
        ("alignment", "bounds"),
        ("canary", "bounds"),
        ("fault", "bounds"),
        ("uninitialised", "uninitialised"),
        ("input-write", "inputs"),
        ("race", "race"),
        ("overflow", "overflow"),
        ("shift", "overflow"),
        ("barrier", "launch"),
        ("hang", "launch"),
    ],
)
def test_every_kind_of_device_fault_has_its_oracle(kind, oracle):
    class Faulty(GoldenBackend):
        def spoil(self, values, outputs, variant):
            fault = Fault(kind, Place((0, 0, 0), (4, 0, 0), "read"), argument="seq_len", element=5)
            return Report(error=None, seconds=0, faults=[fault])

    (finding,) = found(Faulty())
    assert finding.oracle == oracle
    assert "`seq_len`" in finding.message
    assert "thread 4" in finding.message


def test_refused_lawful_arguments():
    class Refusing(GoldenBackend):
        def call(self, signature, values, variant):
            return Report(error="seq_len: no", seconds=0)

    (finding,) = found(Refusing())
    assert (finding.oracle, finding.message) == ("launch", "the launcher refuses lawful arguments: seq_len: no")


def test_hostile_case_is_refused_by_the_model_and_only_lawful_oracles_judge_the_kernel():
    class Wild(GoldenBackend):
        def call(self, signature, values, variant):
            values["cu_seqlens_q"][:] = 77
            fault = Fault("bounds", Place(None, None, "write"), argument="x_remove_padding", element=-1)
            return Report(error=None, seconds=0, faults=[fault])

    hostile = replace(case(seq_len=np.array([2, -1, 3], np.int32)), refused="seq_len[1] is -1")
    assert oracles(Wild(), hostile) == {"bounds"}
    assert oracles(GoldenBackend(), hostile) == set()


def test_hostile_case_that_the_model_computes_with():
    (finding,) = found(GoldenBackend(), replace(case(), refused=""))
    assert (finding.backend, finding.oracle) == ("golden", "refusal")


def test_refusal_for_another_reason():
    hostile = replace(case(seq_len=np.array([2, -1, 3], np.int32)), refused="cpu_token_num")
    (finding,) = found(GoldenBackend(), hostile)
    assert "another reason" in finding.message
    assert "seq_len[1] is -1" in finding.got


def test_lawful_case_that_the_model_refuses():
    (finding,) = found(GoldenBackend(), case(cpu_token_num=4))
    assert (finding.backend, finding.oracle) == ("golden", "refusal")
    assert "cpu_token_num" in finding.message


def test_literal_expectation():
    expect = {"cu_seqlens_q": Expected(np.array([0, 2, 2, 6], np.int32))}
    (finding,) = found(GoldenBackend(), replace(case(), expect=expect))
    assert (finding.backend, finding.oracle, finding.index) == ("golden", "expect", (3,))
    assert (finding.expected, finding.got) == ("6", "5")


def test_metamorphic_relations_find_a_golden_model_that_skips_a_slot(monkeypatch):
    sound = schema.load("get_padding_offset")

    def unsound(**arguments):
        sound.model(**arguments)
        if len(arguments["seq_len"]) > 2:
            arguments["batch_id_per_token"][0] = 2

    monkeypatch.setattr("opgold.harness.case.load", lambda op: replace(sound, model=unsound))
    findings = found(GoldenBackend())
    assert findings
    assert {(finding.backend, finding.oracle) for finding in findings} == {("golden", "metamorphic")}


def test_floats_agree_within_ulps():
    one = np.array([1.0, 1.0, np.nan, 0.0, np.inf], np.float32)
    near = np.array([np.nextafter(np.float32(1), np.float32(2)), 1.0001, np.nan, -0.0, np.float32(3e38)], np.float32)
    assert agree(one, near, 1).tolist() == [True, False, True, True, False]
    assert agree(one, near, 0).tolist() == [False, False, True, False, False]
