"""The zoo's own mistakes are told: heads that say too little, bugs that nobody reports, twins that are not silent."""

import shutil
from pathlib import Path

import pytest

from opgold.harness import casefile, check
from opgold.harness.backends.native import Native
from opgold.harness.zoo import __main__ as command, exhibit as exhibits, trial

ZOO = Path(__file__).parent
SOUND = (ZOO / "cuda" / "zeros.cu").read_text(encoding="utf-8")


@pytest.fixture
def zoo(tmp_path):
    """Makes a zoo of one kernel, `zeros` with an edit."""

    def make(old="", new=""):
        assert old in SOUND
        folder = tmp_path / "cuda"
        folder.mkdir()
        shutil.copy(ZOO / "cuda" / "output_lengths.cuh", folder)
        (folder / "zeros.cu").write_text(SOUND.replace(old, new))
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("// op: speculate_get_seq_lens_output", "// op: no_such_op", "no op 'no_such_op'"),
        ("// class: cheat: zeros", "// class: WRONG", "'WRONG'"),
        ("// story:", "// tale:", "no `// story: ...`"),
        ("caught by: values", "caught by: nobody", "'nobody'"),
        ("// caught by: values\n", "", "not caught: reason"),
        ("#ifdef ZOO_BUG", "#ifdef ZOO_BUGS", "#ifdef ZOO_BUGS"),
    ],
)
def test_a_wrong_head_is_refused_with_the_file(zoo, capsys, old, new, says):
    assert command.main([str(zoo(old, new))]) == 2
    error = capsys.readouterr().err
    assert "zeros.cu: " in error
    assert says in error


def test_a_name_that_is_not_there_and_an_empty_folder_are_refused(zoo, tmp_path, capsys):
    assert command.main([str(tmp_path)]) == 2
    assert "has no cuda/*.cu" in capsys.readouterr().err
    assert command.main([str(zoo()), "ones"]) == 2
    assert "no exhibit 'ones'" in capsys.readouterr().err


def test_a_bug_that_its_oracle_does_not_report_fails(zoo, capsys):
    assert command.main([str(zoo("caught by: values", "caught by: race"))]) == 1
    assert "zeros: no longer reported by race; values reports it" in capsys.readouterr().err


def test_a_bug_that_is_reported_though_its_head_says_not_fails(zoo, capsys):
    assert command.main([str(zoo("caught by: values", "not caught: nobody looks"))]) == 1
    assert "zeros: reported by values" in capsys.readouterr().err


def test_a_twin_that_is_not_silent_fails(zoo, capsys):
    assert command.main([str(zoo("op.output[slot] = op.rows(slot)", "op.output[slot] = 2"))]) == 1
    assert "its right twin is not silent" in capsys.readouterr().err


def test_twins_of_one_text_are_run_once():
    kept = exhibits.one_of_each_twin(exhibits.exhibits(ZOO))
    assert len({exhibit.twin for exhibit in kept}) == len(kept)
    for name in ("zeros", "rollback_forgotten"):
        text = next(e.twin for e in exhibits.exhibits(ZOO) if e.name == name)
        assert "ZOO_BUG" not in text
        assert "op.rows(slot)" in text or "op.rollback[slot]" in text


class FreshLibrary(Native):
    """An exhibit in a library of its own: no call of it was made before."""

    def __init__(self, exhibit, folder):
        super().__init__(exhibit.backend, "checked")
        planted = trial.Planted(exhibit, bug=True)
        planted.prepare(exhibit.op)
        copy = folder / f"{exhibit.name}.so"
        shutil.copy(planted._libraries[exhibit.op], copy)
        self._libraries[exhibit.op] = copy


@pytest.mark.parametrize(
    ("name", "case", "oracle"),
    [
        ("cached_by_address", "every_kind_of_slot", "values"),
        ("cached_by_shape", "every_kind_of_slot", "values"),
        ("previous_output", "every_kind_of_slot", "values"),
        ("drifts_with_each_call", "every_kind_of_slot", "values"),
        ("attribute_set_too_late", "every_kind_of_slot", "launch"),
        ("attribute_of_the_first_call", "decode_idle_prompt_and_chunk", "values"),
    ],
)
def test_what_a_kernel_keeps_shows_in_one_case_alone(name, case, oracle, tmp_path):
    """So that the command that a finding names shows it again."""
    exhibit = next(e for e in exhibits.exhibits(ZOO) if e.name == name)
    path = next(path for path in casefile.regressions(exhibit.op) if path.stem == case)
    ran, findings = check.run_case(casefile.read(path), FreshLibrary(exhibit, tmp_path))
    assert ran
    assert oracle in {finding.oracle for finding in findings}
    if oracle == "launch":  # the first call is the one with zeros
        assert "the call with zeros before" in findings[0].variant
