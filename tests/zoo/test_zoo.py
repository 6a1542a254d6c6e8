"""Each bug of the zoo is reported by the oracles that its file names, each twin is silent, and the page says so."""

from pathlib import Path

import pytest

from opgold.harness.zoo import classes, exhibit as exhibits, table, trial

ZOO = Path(__file__).parent
PAGE = (ZOO.parents[1] / "docs" / "zoo.md").read_text(encoding="utf-8")
ALL = exhibits.exhibits(ZOO)
WRITE = f"run: {table.COMMAND}"


@pytest.mark.parametrize("exhibit", ALL, ids=lambda exhibit: exhibit.name)
def test_bug_is_reported(exhibit):
    bug = trial.run(exhibit, bug=True)
    assert bug.ran
    assert not trial.of_bug(exhibit, bug)
    assert table.row(exhibit, bug) in PAGE.splitlines(), WRITE


@pytest.mark.parametrize("exhibit", exhibits.one_of_each_twin(ALL), ids=lambda exhibit: exhibit.name)
def test_right_twin_is_silent(exhibit):
    twin = trial.run(exhibit, bug=False)
    assert twin.ran
    assert not trial.of_twin(exhibit, twin)


def test_page_has_nothing_else():
    rows = {exhibit.name: f"| {exhibit.name} |" for exhibit in ALL}
    found, expected = PAGE.splitlines(), table.page(ALL, rows).splitlines()
    assert len(found) == len(expected), WRITE
    for got, wanted in zip(found, expected, strict=True):
        if wanted in rows.values():
            assert f"[`{wanted[2:-2]}`]" in got, WRITE
        else:
            assert got == wanted, WRITE


def test_every_class_has_an_exhibit_or_a_reason():
    shown = {exhibit.fault for exhibit in ALL}
    assert shown == {*classes.FAULTS, *(f"cheat: {cheat}" for cheat in classes.CHEATS)}
    assert not classes.FAULTS.keys() & classes.ELSEWHERE.keys()
    assert {exhibit.backend for exhibit in ALL} == {"cuda-emu", "xpu-emu"}
