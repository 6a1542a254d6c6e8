"""Each bug of the zoo is reported by the oracles that its file names, each twin is silent, and the page says so."""

from pathlib import Path

import pytest

from opgold.harness.zoo import classes, exhibit as exhibits, table, trial

ZOO = Path(__file__).parent
PAGE = (ZOO.parents[1] / "docs" / "zoo.md").read_text(encoding="utf-8")
ALL = exhibits.exhibits(ZOO)


@pytest.mark.parametrize("exhibit", ALL, ids=lambda exhibit: exhibit.name)
def test_bug_is_reported_and_twin_is_silent(exhibit):
    bug = trial.run(exhibit, bug=True)
    assert bug.ran
    assert not trial.problems(exhibit, bug, trial.run(exhibit, bug=False))
    assert table.row(exhibit, bug) in PAGE.splitlines(), f"run: {table.COMMAND}"


def test_page_has_nothing_else():
    rows = {exhibit.name: f"| {exhibit.name} |" for exhibit in ALL}
    expected = table.page(ALL, rows).splitlines()
    found = PAGE.splitlines()
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        if wanted in rows.values():
            assert f"[`{wanted[2:-2]}`]" in got
        else:
            assert got == wanted, f"run: {table.COMMAND}"


def test_every_class_has_an_exhibit_or_a_reason():
    shown = {exhibit.fault for exhibit in ALL}
    assert shown >= set(classes.FAULTS) - set(classes.ELSEWHERE)
    assert shown >= {f"cheat: {cheat}" for cheat in classes.CHEATS}
    assert len(ALL) >= 40
    assert {exhibit.backend for exhibit in ALL} == {"cuda-emu", "xpu-emu"}
