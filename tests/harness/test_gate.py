"""The gate, in a copy of this repository: a change in a kernel that no case runs, and the same with a case."""

import json
from xml.etree import ElementTree

import pytest

from opgold.harness.check import OpResult
from opgold.harness.finding import Finding
from opgold.harness.gates import change, gate, tools
from opgold.harness.gates.cobertura import Line
from opgold.harness.gates.counts import ROOT
from opgold.harness.session import Checked
from opgold.reference import schema

OP = "speculate_get_seq_lens_output"
KERNEL = f"kernels/cuda/{OP}.cu"
SOUND = "  if (b < bsz) seq_lens_output[b] = output_rows(seq_lens_this_time[b], seq_lens_encoder[b]);\n"
BRANCH = """  if (b >= bsz) return;
  if (seq_lens_this_time[b] == 54321) {
    seq_lens_output[b] = output_rows(54321, seq_lens_encoder[b]);
    return;
  }
  seq_lens_output[b] = output_rows(seq_lens_this_time[b], seq_lens_encoder[b]);
"""
CASE = f"""op: {OP}
why: The number of tokens that has a branch of its own.
inputs:
  seq_lens_this_time: [54321]
  seq_lens_encoder: [0]
  seq_lens_decoder: [5]
expect:
  seq_lens_output: [54321]
"""


def run_gate(checkout, *arguments):
    return checkout.opgold("gate", "--base", "HEAD", "--backend", "cuda-emu", "--examples", "5", *arguments)


def test_a_branch_that_no_case_takes_is_refused_and_with_a_case_it_is_not(checkout, tmp_path):
    checkout.edit(KERNEL, SOUND, BRANCH)
    start = 1 + (checkout.root / KERNEL).read_text().split(BRANCH)[0].count("\n")
    refused = run_gate(checkout, "--json", tmp_path / "gate.json", "--junit", tmp_path / "gate.xml")
    assert refused.returncode == 9, refused.stdout + refused.stderr
    uncovered = [
        f"{KERNEL}:{start + 1}: 1 of 2 branches taken",
        f"{KERNEL}:{start + 2}: never ran",
        f"{KERNEL}:{start + 3}: never ran",
    ]
    assert refused.stdout.splitlines()[:-1] == uncovered
    assert "1 op, " in refused.stdout
    assert "2 of 5 changed lines covered, 40.0 %, below 80 %" in refused.stdout
    verdict = json.loads((tmp_path / "gate.json").read_text())
    assert (verdict["exit"], verdict["percent"], verdict["ops"]) == (9, 40.0, [OP])
    assert [entry["line"] for entry in verdict["files"][0]["uncovered"]] == [start + 1, start + 2, start + 3]
    failures = ElementTree.parse(tmp_path / "gate.xml").findall("testsuite/testcase/failure")
    assert [failure.text.splitlines() for failure in failures] == [uncovered]

    (checkout.root / "cases" / "regressions" / OP / "tokens_of_54321.yaml").write_text(CASE)
    accepted = run_gate(checkout, "--json", tmp_path / "gate.json", "--junit", tmp_path / "gate.xml")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert "5 of 5 changed lines covered, 100.0 %" in accepted.stdout
    assert json.loads((tmp_path / "gate.json").read_text())["files"][0]["uncovered"] == []
    assert ElementTree.parse(tmp_path / "gate.xml").findall("testsuite/testcase/failure") == []


def test_findings_come_before_coverage(checkout, tmp_path):
    checkout.edit(KERNEL, "= output_rows(", "= 1 + output_rows(")
    wrong = run_gate(checkout, "--junit", tmp_path / "gate.xml")
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert f"{OP} · cuda-emu · values" in wrong.stdout
    assert ElementTree.parse(tmp_path / "gate.xml").find("testsuite[@name='cases']").get("failures") == "1"

    checkout.edit(KERNEL, "= 1 + output_rows(", "= outpt_rows(")
    broken = run_gate(checkout)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert f"{OP} · cuda-emu · build" in broken.stdout


def test_a_golden_model_is_held_to_its_coverage_and_a_new_header_is_named(checkout):
    model = f"reference/{OP}.py"
    checkout.edit(model, "        else:\n", "        elif tokens == 54321:\n            tokens += 0\n        else:\n")
    (checkout.root / "kernels" / "cuda" / "unused.cuh").write_text("__device__ inline int one() { return 1; }\n")
    checkout.commit()
    held = run_gate(checkout, "--base", "HEAD~1")
    checkout.git("reset", "--quiet", "--hard", "HEAD~1")
    assert held.returncode == 9, held.stdout + held.stderr
    assert f"{model}:" in held.stdout
    assert "never ran" in held.stdout
    assert "kernels/cuda/unused.cuh: no op includes it" in held.stdout


def test_what_concerns_no_op_runs_nothing(checkout):
    (checkout.root / "README.md").write_text("new\n")
    result = run_gate(checkout)
    assert (result.returncode, result.stdout) == (0, "the change since HEAD concerns no op\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--base", "nowhere"], "--base nowhere: no such revision"),
        (["--json", "no/gate.json"], "--json no/gate.json: there is no folder no"),
        (["--backend", "nothing"], "no backend 'nothing'"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(checkout, arguments, message):
    result = run_gate(checkout, *arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.mark.parametrize(("fail_under", "executed", "code"), [(40, 3, 0), (40.1, 3, 9), (80, 3, 9), (0, 0, 1)])
def test_exit_codes(fail_under, executed, code):
    result = OpResult(OP, generated=executed)
    file = gate.ChangedFile(KERNEL, 5, {number: Line(0) for number in (1, 2, 3)})
    verdict = gate.Verdict("HEAD", fail_under, [OP], [file], [], [], [Checked("cuda-emu", [result])])
    assert verdict.code == code
    result.findings.append(Finding(OP, "cuda-emu", "values", "wrong"))
    assert verdict.code == 1


def concerned(*files):
    return change.concerned([ROOT / file for file in files], schema.ops())


def test_a_change_concerns_the_ops_that_are_made_of_it():
    assert concerned(KERNEL) == [OP]
    assert concerned(f"kernels/xpu/{OP}.cc") == [OP]
    assert concerned(f"cases/{OP}.py", "README.md") == [OP]
    assert concerned(f"cases/regressions/{OP}/new.yaml", f"cases/regressions/{OP}/new.npz") == [OP]
    assert OP in concerned("kernels/cuda/packing.cuh")
    assert "rebuild_padding" not in concerned("kernels/cuda/packed_tokens.cuh")
    assert concerned("reference/_ngram.py") == ["hybrid_mtp_ngram", "ngram_match"]
    assert set(concerned("cases/ngrams.py")) >= {"hybrid_mtp_ngram", "ngram_match"}
    assert len(concerned("cases/ngrams.py")) < 10


@pytest.mark.parametrize(
    "file",
    [
        "kernels/emulator/core/warp.cc",
        "kernels/build.py",
        "kernels/bindings/export.h",
        "harness/runner.py",
        "reference/schema.py",
        "cases/sample.py",
    ],
)
def test_what_all_share_concerns_all(file):
    assert concerned(file) == list(schema.ops())


@pytest.mark.parametrize(
    "file",
    [
        "docs/cases.md",
        "tests/test_ops.py",
        "cases/sequences/mixed_one_step.yaml",
        "kernels/bench/copy.cu",
        "kernels/cuda/none.cuh",
        "harness/bench/cpu.py",
        "reference/glue/capture.py",
    ],
)
def test_what_no_case_runs_concerns_none(file):
    assert concerned(file) == []


def test_outside_a_checkout_there_is_no_change(monkeypatch, tmp_path):
    monkeypatch.setattr(change, "ROOT", tmp_path)
    with pytest.raises(tools.Unmeasurable, match="which is no checkout"):
        change.since("HEAD")
