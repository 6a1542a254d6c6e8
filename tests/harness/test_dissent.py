"""Backends side by side: their marks, what is said once, and who stands alone."""

import json
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from opgold.harness import casefile, check, dissent, report, session
from opgold.harness.backends.golden import GoldenBackend

OP = "speculate_get_seq_lens_output"


class Named(GoldenBackend):
    """The golden model under another name, with `wrong` added to what it writes."""

    def __init__(self, name, wrong=0, lacks=()):
        super().__init__()
        self.name, self.wrong, self.lacks = name, wrong, lacks

    def has(self, op):
        return op not in self.lacks

    def call(self, signature, values, variant):
        result = super().call(signature, values, variant)
        if self.wrong:
            np.add(values["seq_lens_output"], self.wrong, out=values["seq_lens_output"])
        return result


def shown(runs):
    text = StringIO()
    report.show(Console(file=text, width=200), runs, 0)
    return text.getvalue()


@pytest.mark.parametrize(
    ("values", "end"),
    [
        ({"golden": "1", "cuda-emu": "1", "xpu-emu": "2"}, "xpu-emu 2: xpu-emu stands alone"),
        ({"golden": "1", "cuda-emu": "2", "xpu-emu": "1"}, "xpu-emu 1: cuda-emu stands alone"),
        ({"golden": "1", "cuda-emu": "2", "xpu-emu": "2"}, "xpu-emu 2: the golden model stands alone"),
        ({"golden": "1", "cuda-emu": "2", "xpu-emu": "3"}, "xpu-emu 3"),
        ({"golden": "1", "cuda-emu": "2"}, "golden 1, cuda-emu 2"),
    ],
)
def test_verdict(values, end):
    assert dissent.verdict(values).endswith(end)


@pytest.mark.parametrize(
    ("first", "second", "lone"), [(0, 7, "second"), (7, 0, "first"), (7, 7, "the golden model"), (7, 9, None)]
)
def test_the_lone_dissenter_is_named(first, second, lone):
    runs = session.check_named([OP], [Named("first", first), Named("second", second)], 0, 0, 1)
    text = shown(runs)
    assert "sides     golden " in text
    assert (f"{lone} stands alone" in text) if lone else ("stands alone" not in text)


def test_marks_stand_side_by_side():
    runs = session.check_named([OP], [Named("first"), Named("second", 7)], 0, 0, 1)
    text = shown(runs)
    assert "opgold check on first, second (marks in this order)" in text
    kept = len(casefile.regressions(OP))
    assert re.search(rf"^ ?{OP} +{kept}(?: +·){{3}} +· \d", text, re.MULTILINE), text
    assert f"executed {kept} cases on first: " in text
    assert f"executed {kept} cases on second: " in text


def test_what_a_backend_lacks_is_told_and_marked():
    runs = session.check_named([OP], [Named("first"), Named("second", lacks=(OP,))], 0, 0, 1)
    text = shown(runs)
    assert f"not checked on second, which lacks them: {OP}" in text
    assert "no findings" in text
    assert "· -" in text


def test_a_fault_of_the_golden_model_is_told_once(tmp_path):
    case = casefile.regressions(OP)[0]
    wrong = tmp_path / "wrong.yaml"
    inputs = "  seq_lens_this_time: [3]\n  seq_lens_encoder: [0]\n  seq_lens_decoder: [5]\n"
    wrong.write_text(f"op: {OP}\nwhy: planted\ninputs:\n{inputs}expect:\n  seq_lens_output: [4]\n")
    runs = session.check_files([case, wrong], [Named("first"), Named("second")])
    assert [(f.backend, f.oracle) for run in runs for f in run.findings] == [("golden", "expect")]
    assert [run.executed for run in runs] == [2, 2]


def test_json_has_a_part_for_each_backend():
    runs = session.check_named([OP], [Named("first"), Named("second", 7)], 0, 0, 1)
    record = json.loads(json.dumps(report.as_json(runs, 0, 1)))
    assert [part["backend"] for part in record["backends"]] == ["first", "second"]
    assert record["executed"] == sum(part["executed"] for part in record["backends"])
    finding = record["backends"][1]["ops"][0]["findings"][-1]
    assert "second stands alone" in finding["sides"]


def test_a_generated_case_that_is_wrong_on_one_side_tells_all_sides(monkeypatch, tmp_path):
    monkeypatch.setattr(check, "SAVED", tmp_path)
    monkeypatch.setattr(casefile, "regressions", lambda op: [])
    runs = session.check_named([OP], [Named("first"), Named("second", 7)], 5, 0, 1)
    assert "second stands alone" in shown(runs)
