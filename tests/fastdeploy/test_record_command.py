"""`opgold record` runs a program as it is; `opgold check --recorded` holds what it did to the golden models."""

import json
import subprocess
import sys

import pytest

from opgold.harness import casefile, cli

OP = "speculate_update_seq_lens_this_time"

MODULE = f'''
def {OP}(seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, real_bsz, value):
    """Right, but for lengths of 9."""
    lengths = seq_lens_this_time.numpy()
    for slot in range(real_bsz):
        if seq_lens_encoder[slot] == 0:
            lengths[slot] = value if seq_lens_decoder[slot] != 0 and value != 9 else 0
    seq_lens_this_time.set_value(lengths)
'''

PROGRAM = f"""
import multiprocessing
import sys

import customised
import numpy as np
import paddle

from some_ops import {OP} as op


def call(value, *lengths):
    tensor = paddle.to_tensor(np.array(lengths, np.int32))
    address = tensor.data_ptr()
    zeros = paddle.to_tensor(np.zeros(len(lengths), np.int32))
    assert op(tensor, zeros, zeros + 1, len(lengths), value=value) is None
    assert tensor.data_ptr() == address
    return tensor.tolist()


if __name__ == "__main__":
    print(call(4, 1, 2), call(4, 1, 2), call(9, 1, 2))
    worker = multiprocessing.get_context("spawn").Process(target=call, args=(4, 1, 2, 3))
    worker.start()
    worker.join()
    assert "opgold" not in str(sys.path[0])
    sys.exit(7 + worker.exitcode)
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "opgold", *map(str, arguments)]
    environment = {**cli.os.environ, "PYTHONPATH": str(folder / "site")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A folder in which a program was recorded; and what the command said."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "some_ops.py").write_text(MODULE)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text("import sys\nsys.modules['customised'] = sys\n")
    done = run(folder, "record", "--module", "some_ops", "--out", "calls", "--", sys.executable, "program.py")
    return folder, done


def test_the_program_runs_as_it_is_and_its_calls_are_kept(program):
    folder, done = program
    assert done.returncode == 7, done.stderr
    assert done.stdout == "[4, 4] [4, 4] [0, 0]\n"
    assert "opgold record: 4 calls of 1 op of some_ops in 2 processes, 3 kept in calls\n" in done.stderr
    assert f"{OP}: 4 calls, 3 kept; not kept: 1 of the same content\n" in done.stderr
    assert "recording failed" not in done.stderr
    assert sorted(path.name for path in (folder / "calls").iterdir()) == ["recording.json", OP]


def test_the_recording_is_checked_with_a_backend_beside_it(program, monkeypatch, capsys):
    folder, _ = program
    monkeypatch.chdir(folder)
    assert main(monkeypatch, "check", "--recorded", "calls", "--backend", "cuda-emu", "--json", "out.json") == 1
    said = capsys.readouterr().out
    assert f"{OP} · recorded:calls · values" in said
    assert "sides     golden 9, recorded:calls 0, cuda-emu 9: recorded:calls stands alone" in said
    assert "executed 3 cases on cuda-emu" in said
    assert "calls: 3 of 4 calls of some_ops" in said
    report = json.loads((folder / "out.json").read_text())
    (finding,) = [finding for side in report["backends"] for op in side["ops"] for finding in op["findings"]]
    assert main(monkeypatch, *finding["repeat"].split()[1:]) == 1  # the command that shows it again


LEDGER = f"""
[[failure]]
op = "{OP}"
backend = "recorded:calls"
argument = "seq_lens_this_time"
reason = "Known: https://example.com/issues/1"
expires = 2100-01-01
"""


def test_a_known_departure_does_not_count(program, monkeypatch, capsys):
    folder, _ = program
    monkeypatch.chdir(folder)
    (folder / "ledger.toml").write_text(LEDGER)
    assert main(monkeypatch, "check", "--recorded", "calls", "--ledger", "ledger.toml") == 0
    assert f"known until 2100-01-01: {OP} · recorded:calls · values" in capsys.readouterr().out


def test_a_call_is_kept_as_a_case_of_its_own(program, monkeypatch, capsys):
    folder, _ = program
    monkeypatch.chdir(folder)
    assert main(monkeypatch, "case", "keep", f"calls/{OP}/call_1.yaml", "--out", "mine.yaml") == 0
    case = casefile.read(folder / "mine.yaml")
    assert case.inputs["seq_lens_this_time"].tolist() == [1, 2]
    assert "Recorded from some_ops, call 1" in case.why
    assert main(monkeypatch, "case", "keep", f"calls/{OP}/call_1.yaml", "--out", "mine.yaml") == 2
    assert "mine.yaml exists" in capsys.readouterr().err


def main(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["opgold", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code or 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["record", "--module", "some_ops", "--out", "calls", "--", "true"], "calls is not an empty folder"),
        (["record", "--module", "some_ops", "--out", "new", "--", "no_such_program"], "there is no such command"),
        (
            ["record", "--module", "some_ops", "--op", "padding", "--out", "new", "true"],
            "no op 'padding'",
        ),
        (["record", "--module", "some_ops@none.yaml", "--out", "new", "--", "true"], "none.yaml: No such file"),
        (["check", "--recorded", "none"], "recorded: none: there is no such folder"),
        (["check", "--recorded", "site"], "recorded: site: holds no recording.json"),
        (["check", "rebuild_padding", "--recorded", "calls"], f"calls holds no calls of rebuild_padding; it has {OP}"),
        (["check", "--recorded", "calls", "--case", "x.yaml"], "leave out --case"),
        (["case", "keep", "none.yaml", "--out", "new.yaml"], "none.yaml: No such file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(program, monkeypatch, capsys, arguments, said):
    folder, _ = program
    monkeypatch.chdir(folder)
    assert main(monkeypatch, *arguments) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert said in error
    assert not (folder / "new").exists()


def test_a_program_that_never_imports_the_module_is_told(program, monkeypatch, capsys):
    folder, _ = program
    monkeypatch.chdir(folder)
    assert main(monkeypatch, "record", "--module", "some_ops", "--out", "none", "--", "sh", "-c", "exit 3") == 3
    assert "nothing recorded: no Python process imported some_ops" in capsys.readouterr().err
    assert main(monkeypatch, "check", "--recorded", "none") == 1
    assert "no case was executed" in capsys.readouterr().out


def test_a_process_without_opgold_is_told_and_runs(program, monkeypatch, capfd):
    folder, _ = program
    monkeypatch.chdir(folder)
    python = sys.executable
    program = "print('it runs')"
    (folder / "site" / "opgold.py").write_text("raise ImportError('none here')\n")
    monkeypatch.setenv("PYTHONPATH", str(folder / "site"))
    try:
        assert main(monkeypatch, "record", "--module", "some_ops", "--out", "bare", "--", python, "-c", program) == 0
    finally:
        (folder / "site" / "opgold.py").unlink()
    out, error = capfd.readouterr()
    assert out == "it runs\n"
    assert "recording failed: opgold cannot be imported: ImportError: none here" in error
