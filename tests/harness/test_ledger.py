"""The ledger of known failures: what an entry names, and which entries fail the check themselves."""

import inspect
import json
import os
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from opgold.harness import backends, casefile, cli, ledger, session
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.finding import Finding

OP = "get_padding_offset"
TODAY = date(2026, 3, 1)
ENTRY = {
    "op": f'"{OP}"',
    "backend": '"cuda-emu"',
    "argument": '"x_remove_padding"',
    "reason": '"Planted: https://example.com/1"',
    "expires": "2026-03-01",
}
KNOWN, STALE = {"expires": "2999-01-01"}, {"expires": "2999-01-01", "argument": '"seq_len"'}


class Planted(GoldenBackend):
    """Has a fault in `x_remove_padding` wherever there are tokens, and another one where `also` says."""

    def __init__(self, name="cuda-emu", also=lambda values: False):
        self.name, self.also = name, also

    def spoil(self, values, outputs, variant):
        outputs.get("attn_mask_offsets", np.zeros(1))[:1] += 1
        if "x_remove_padding" in outputs:
            outputs["x_remove_padding"][:1] += 1
            if self.also(values):
                outputs["cu_seqlens_q"][0] = 9


@pytest.fixture
def written(tmp_path):
    """Writes entries, each ENTRY with some fields changed (None: left out), to a file."""

    def written(*changes):
        tables = [{**ENTRY, **change} for change in changes]
        lines = [["[[failure]]", *(f"{k} = {v}" for k, v in table.items() if v is not None)] for table in tables]
        path = tmp_path / "known.toml"
        path.write_text("\n".join(line for table in lines for line in table) + "\n")
        return path

    return written


@pytest.fixture
def read(written):
    return lambda *changes, today=TODAY: ledger.read(written(*changes), today)


def run(kept, backend=None, examples=0, name=OP):
    """Checks the op on a planted backend: what came of it, and the ledger's problems."""
    (checked,) = session.check_named([name], [backend or Planted()], examples, 0, 1, None, kept)
    return checked, session.ledger_problems(kept, [checked])


def test_the_ledger_that_is_shipped_has_no_entries_and_shows_a_form_that_can_be_read(tmp_path):
    assert ledger.read().entries == ()
    text = ledger.PATH.read_text()
    example = "\n".join(line[2:] for line in text.splitlines() if re.match(r"# (\[\[|\w+ = )", line))
    path = tmp_path / "example.toml"
    path.write_text(example)
    (entry,) = ledger.read(path, TODAY).entries
    assert (entry.absent(), entry.case, entry.oracle) == ("", "zero_*", "race")


def test_findings_that_an_entry_names_are_known_and_the_others_are_not(read):
    checked, problems = run(read({}))
    assert problems == []
    assert checked.findings == []
    assert len(checked.known) > 10
    assert {known.finding.argument for known in checked.known} == {"x_remove_padding"}
    assert checked.known[0].entries == (1,)
    other, _ = run(read({"argument": '"cu_seqlens_q"'}), Planted(also=lambda values: True))
    assert {finding.argument for finding in other.findings} == {"x_remove_padding"}
    assert {known.finding.argument for known in other.known} == {"cu_seqlens_q"}


def test_generated_cases_go_on_past_what_is_known(read):
    checked, _ = run(read({}), Planted(also=lambda values: len(values["seq_len"]) == 5), examples=200)
    (generated,) = [finding for finding in checked.findings if finding.case == "generated"]
    assert generated.argument == "cu_seqlens_q"
    assert sum(known.finding.case == "generated" for known in checked.known) == 1, "once a kind"


def test_an_entry_may_be_about_sequences(read):
    checked, problems = run(read({"op": '"mtp_rounds"', "argument": '"attn_mask_offsets"'}), name="mtp_rounds")
    assert (checked.findings, problems) == ([], [])
    assert {known.finding.oracle for known in checked.known} == {"sequence"}
    checked, problems = run(read({"op": '"mtp_rounds"', "argument": '"stop_flags"'}), name="mtp_rounds")
    assert {finding.argument for finding in checked.findings} == {"attn_mask_offsets"}
    assert "failure 1 (mtp_rounds on cuda-emu): argument: 'stop_flags': its " in problems[0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, True),
        ({"op": '"rebuild_padding"'}, False),
        ({"backend": '"xpu-emu"'}, False),
        ({"argument": '"cu_seqlens_q"'}, False),
        ({"argument": '"seq_len"'}, True),
        ({"case": '"slots_*"'}, True),
        ({"case": '"slots"'}, False),
        ({"oracle": '"race"'}, True),
        ({"oracle": '"values"'}, False),
        ({"oracle": '"values"', "case": '"slots_*"'}, False),
    ],
)
def test_every_predicate_given_must_fit(read, change, named):
    finding = Finding(OP, "cuda-emu", "race", "two threads at `seq_len`", "x_remove_padding", case="slots_257")
    assert bool(read(change).known(OP, finding)) == named


def test_an_entry_holds_up_to_its_day_and_then_fails_and_hides_nothing(read):
    assert run(read({}, today=TODAY))[0].findings == []
    checked, problems = run(read({}, today=TODAY + timedelta(days=1)))
    assert len(checked.findings) > 10
    assert checked.known == []
    (problem,) = problems
    assert f"failure 1 ({OP} on cuda-emu): expires: 2026-03-01 is past" in problem


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op": '"no_op"'}, "(no_op on cuda-emu): op: 'no_op': there is no such op"),
        ({"backend": '"rocm"'}, "backend: 'rocm': there are cuda-emu, "),
        ({"op": '"adjust_batch"', "argument": '"x"'}, "backend: 'cuda-emu': it does not have adjust_batch"),
        ({"case": '"nothing_*"'}, f"case: 'nothing_*': no kept case of {OP}"),
        ({"argument": '"nothing"'}, f"argument: 'nothing': {OP} has "),
    ],
)
def test_an_entry_about_what_does_not_exist_is_stale(read, change, message):
    (problem,) = read({}, change).problems(set(), set())
    assert "failure 2 (" in problem
    assert message in problem


def test_an_entry_whose_cases_pass_is_stale(read):
    _, problems = run(read({"case": '"zero_slots*"', "argument": '"cu_seqlens_q"'}))
    (problem,) = problems
    assert "case: 'zero_slots*', argument: 'cu_seqlens_q': its 2 cases ran, and nothing was found that it" in problem


@pytest.mark.parametrize("predicate", [{}, {"case": '"zero_slots*"'}])
def test_an_entry_is_not_called_passing_while_one_of_its_cases_did_not_run(read, predicate):
    kept = read(predicate)
    paths = [path for path in casefile.regressions(OP) if path.stem.startswith("zero_slots")]
    sound = GoldenBackend()
    sound.name = "cuda-emu"
    part = session.check_files(paths[:1], [sound], kept)
    assert session.ledger_problems(kept, part) == []
    whole = session.check_files(casefile.regressions(OP), [sound], kept)
    assert len(session.ledger_problems(kept, whole)) == 1


def test_an_entry_about_a_golden_model_is_judged_on_any_backend(read):
    kept = read({"backend": '"golden"'})
    checked, problems = run(kept)
    assert len(checked.findings) > 10, "they are the kernel's"
    assert "(get_padding_offset on golden): argument: 'x_remove_padding': its " in problems[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op": None}, "failure 1 (None on cuda-emu): op: is missing"),
        ({"reason": None}, "reason: is missing"),
        ({"reason": '"no link"'}, "reason: 'no link', expected a link"),
        ({"expires": '"2026-03-01"'}, "expires: '2026-03-01', expected a date"),
        ({"expires": "2026-03-01T10:00:00"}, "expected a date"),
        ({"argument": None}, "it names every finding; give one of case, oracle, argument"),
        ({"argument": "3"}, "argument: 3, expected a text"),
        ({"oracle": '"rase"'}, "oracle: 'rase', expected one of refusal, "),
        ({"until": "3"}, "until: 3: unknown key; there are op, "),
        ({"number": "3"}, "number: 3: unknown key"),
    ],
)
def test_a_malformed_entry_cannot_be_read(read, change, message):
    with pytest.raises(ledger.LedgerError) as error:
        read(change)
    assert message in str(error.value)
    assert "known.toml: failure 1 (" in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("[[failure]\n", "no TOML"), ("[[known]]\n", "unknown key 'known'"), ("failure = 3\n", "failure: 3, expected")],
)
def test_a_malformed_file_cannot_be_read(tmp_path, text, message):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(ledger.LedgerError, match=message):
        ledger.read(path)


@pytest.fixture
def opgold(monkeypatch, capsys, tmp_path):
    """Runs `opgold check` here, on a planted backend: exit code, what it printed, JSON."""

    def opgold(path):
        report = tmp_path / "out.json"
        arguments = ["check", OP, "--backend", "cuda-emu", "--examples", "3", "--ledger", path, "--json", report]
        monkeypatch.setattr(sys, "argv", ["opgold", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, capsys.readouterr(), json.loads(report.read_text()) if report.exists() else None

    monkeypatch.setattr(backends, "get", Planted)
    monkeypatch.chdir(tmp_path)
    return opgold


def test_check_shows_known_failures_in_a_line_each_and_exits_0(opgold, written):
    code, printed, report = opgold(written(KNOWN))
    assert code == 0, printed.out
    lines = [line for line in printed.out.splitlines() if line.startswith("known until 2999-01-01: ")]
    where = f"{OP} · cuda-emu · values · slots_257 · x_remove_padding[0]"
    assert f"known until 2999-01-01: {where}: Planted: https://example.com/1" in lines
    (result,) = report["backends"][0]["ops"]
    assert len(result["known"]) == len(lines) > 10
    assert result["findings"] == report["ledger"] == []
    assert (result["known"][0]["reason"], result["known"][0]["entries"]) == ("Planted: https://example.com/1", [1])
    assert "no new findings" in printed.out
    row = next(line for line in printed.out.splitlines() if line.startswith(f"{OP} "))
    assert row.split().count("k") == 1


def test_check_fails_for_a_stale_entry_alone(opgold, written):
    code, printed, report = opgold(written(KNOWN, STALE))
    assert code == 1
    assert "failure 2 (get_padding_offset on cuda-emu): argument: 'seq_len': its " in printed.out
    assert len(report["ledger"]) == 1


def test_check_does_not_start_with_a_malformed_ledger(opgold, written):
    code, printed, _ = opgold(written({"expires": "1"}))
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1


@pytest.fixture
def tests(tmp_path):
    """Runs the tests of the op under pytest, on the planted backend."""
    plugin = "import numpy as np\nfrom opgold.harness import backends\n"
    plugin += f"from opgold.harness.backends.golden import GoldenBackend\n\n\n{inspect.getsource(Planted)}"
    (tmp_path / "planted_backend.py").write_text(f"{plugin}\n\nbackends.get = Planted\n")

    def tests(path, *options):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "planted_backend"]
        command += ["--opgold-ledger", path, "--opgold-backend", "cuda-emu", "-k", f"emu-{OP}", *options]
        command.append(Path(__file__).parents[1] / "test_ops.py")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)

    return tests


def test_pytest_expects_known_failures(tests, written):
    result = tests(written(KNOWN))
    assert result.returncode == 0, result.stdout + result.stderr
    count = int(re.search(r"(\d+) xfailed", result.stdout)[1])
    assert count > 10
    assert result.stdout.count(f"known until 2999-01-01: {OP} · cuda-emu · values · ") == count


def test_pytest_fails_for_a_stale_entry_once_all_its_cases_ran(tests, written):
    part = tests(written(KNOWN, STALE), "-k", f"emu-{OP}-zero")
    assert part.returncode == 0, part.stdout
    result = tests(written(KNOWN, STALE), "-n", "2")
    assert result.returncode == 1
    assert " failed" not in result.stdout
    assert "failure 2 (get_padding_offset on cuda-emu): argument: 'seq_len': its " in result.stdout


def test_pytest_fails_for_new_findings_and_takes_no_malformed_ledger(tests, written):
    result = tests(written({**KNOWN, "case": '"slots_257"'}))
    assert result.returncode == 1
    assert "1 xfailed" in result.stdout
    assert "FAILED" in result.stdout
    malformed = tests(written({"expires": "1"}))
    assert malformed.returncode not in (0, 1)
    assert "--opgold-ledger: " in malformed.stdout + malformed.stderr
    assert "Traceback" not in malformed.stdout + malformed.stderr
