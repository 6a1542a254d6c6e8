"""The command line: exit codes, one-line errors with a way out, and what it shows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opgold.harness import backends, casefile, check, cli
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.show import example, judge_case
from opgold.reference import schema

CASE = next(p for p in casefile.regressions("get_padding_offset") if p.stem == "capacity_above_need")


@pytest.fixture
def opgold(tmp_path):
    def run(*arguments, **kwargs):
        command = [sys.executable, "-m", "opgold", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, **kwargs)

    return run


def test_clean_check_counts_what_it_executed_and_exits_0(opgold, tmp_path):
    result = opgold("check", "get_padding_offset", "--examples", 20, "--json", tmp_path / "out.json")
    assert result.returncode == 0, result.stdout + result.stderr
    kept = len(casefile.regressions("get_padding_offset"))
    for name in backends.DEFAULT:
        assert f"executed {kept + 20} cases on {name}: {kept} regression, 20 generated" in result.stdout
    assert "no findings" in result.stdout
    report = json.loads((tmp_path / "out.json").read_text())
    assert (report["exit"], report["executed"]) == (0, len(backends.DEFAULT) * (kept + 20))


def test_finding_exits_1_and_says_how_to_repeat_it(opgold, tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(CASE.read_text().replace("cu_seqlens_q: [0, ", "cu_seqlens_q: [1, "))
    result = opgold("check", "--case", path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "get_padding_offset · golden · expect" in result.stdout
    assert "opgold check --case wrong.yaml" in result.stdout
    again = opgold("case", "check", path)
    assert again.returncode == 1
    assert "departs from the case's literal values" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "rebuild_paddin"], "no op 'rebuild_paddin'; did you mean rebuild_padding"),
        (["show", "nothing_like_it"], "get_padding_offset, "),
        (["check", "--backend", "rocm"], "no backend 'rocm'; there are cuda-emu, xpu-emu, cuda, xpu"),
        (["check", "--case", "none.yaml"], "none.yaml: No such file or directory"),
        (["check", "get_padding_offset", "--case", "x.yaml"], "leave out the op"),
        (["check", "get_padding_offset", "--json", "no/such/folder.json"], "there is no folder no/such"),
        (["case", "new", "get_padding_offset", "--out", "no/x.yaml"], "there is no folder no"),
        (["case", "check", "none.yaml"], "none.yaml: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(opgold, arguments, message):
    result = opgold(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert result.stdout == ""


def test_missing_compiler_is_one_line_and_exit_2(opgold, tmp_path):
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    result = opgold("check", "get_padding_offset", "--examples", 1, env=environment)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "g++" in result.stderr
    assert "error: backend cuda-emu is not available here" in result.stderr


def test_no_case_executed_is_a_failure(monkeypatch, capsys):
    class Bare(GoldenBackend):
        def has(self, op):
            return False

    monkeypatch.setattr(backends, "get", lambda name: Bare())
    monkeypatch.setattr(sys, "argv", ["opgold", "check", "--examples", "0"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "no case was executed" in capsys.readouterr().out


def test_list_show_doctor(opgold):
    listed = opgold("list").stdout
    assert all(op in listed for op in schema.ops())
    shown = opgold("show", "get_padding_offset").stdout
    assert "[bsz, max_len]" in shown
    assert "get_padding_offset(input_ids, seq_len, draft_tokens," in shown
    assert CASE.stem in shown
    assert Path("get_padding_offset.cu").name in shown
    examined = opgold("doctor").stdout
    assert "backend cuda-emu" in examined
    assert "compiler for cuda-emu" in examined


@pytest.mark.parametrize("op", schema.ops())
def test_example_is_valid_and_has_literal_values(tmp_path, op):
    path = tmp_path / "new.yaml"
    casefile.write(example(op), path)
    verdict, findings = judge_case(casefile.read(path))
    assert findings == []
    assert "literal values of" in verdict


def test_new_case_is_written_once(opgold, tmp_path):
    path = tmp_path / "new.yaml"
    assert opgold("case", "new", "rebuild_padding", "--out", path).returncode == 0
    assert opgold("check", "--case", path).returncode == 0
    again = opgold("case", "new", "rebuild_padding", "--out", path)
    assert again.returncode == 2
    assert "exists" in again.stderr


def test_a_process_that_dies_is_one_line_and_a_failure(monkeypatch, capsys):
    def die(*_):
        raise check.ProcessDied("a process that checked an op died")

    monkeypatch.setattr(check, "check_side_by_side", die)
    monkeypatch.setattr(sys, "argv", ["opgold", "check", "--jobs", "2", "--examples", "0"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: a process that checked an op died\n"
