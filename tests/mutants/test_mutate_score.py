"""What counts: shared mutants once, equivalents apart; the exit code; entries of equivalents that are wrong."""

import pytest

from opgold.harness.finding import Finding
from opgold.harness.gates.counts import ROOT
from opgold.harness.gates.mutation import equivalents
from opgold.harness.gates.mutation.diff import mutated_text, unified
from opgold.harness.gates.mutation.equivalents import EquivalentsError
from opgold.harness.gates.mutation.score import Outcome, Tally
from opgold.harness.gates.mutation.show import lines_of, summary
from opgold.harness.gates.mutation.verdict import (
    DIED,
    ELSEWHERE,
    GOLDEN,
    TIMEOUT,
    Begun,
    Judged,
    Side,
    Unmutated,
    Verdict,
)
from opgold.kernels.mutants import Mutant

CUDA = "cuda-emu"


@pytest.fixture
def mutant(tmp_path):
    """A mutant of a file of the test's own, or of a file that two ops have."""

    def mutant(name="one.cu", line=1, after="row <= tokens", operator="comparison"):
        file = tmp_path / name
        if not file.exists():
            file.write_text("  if (row < tokens) write(row);\n" * 9)
        return Mutant(file, line, 7, operator, "row < tokens", after, "a case in which `row` equals `tokens`")

    return mutant


def outcome(*said, complete=False):
    """(op, side, verdicts) of each task."""
    collected = Outcome(complete)
    for op, side, verdicts in said:
        collected.add(Begun(Side(op, side), tuple(verdict.mutant for verdict in verdicts), 5))
        for verdict in verdicts:
            collected.add(Judged(Side(op, side), verdict))
    return collected


def test_rows_and_sums(mutant):
    ways = ["values", "race", "footprint", TIMEOUT, DIED, ""]
    own = [Verdict(mutant(line=line), 3, 2, caught) for line, caught in enumerate(ways, 1)]
    model = [Verdict(mutant("one.py"), 1, 1, "expect")]
    found = outcome(("one", GOLDEN, model), ("one", CUDA, own))
    assert [(row.op, row.side, row.cases) for row in found.rows] == [("one", CUDA, 5), ("one", GOLDEN, 5)]
    assert found.rows[0].tally.ways == {"values": 1, "other oracle": 2, TIMEOUT: 1, DIED: 1}
    assert found.total(golden=False) == found.rows[0].tally
    assert (found.total(golden=False).caught, found.total(golden=False).survivors) == (5, 1)
    assert found.total(golden=True).percent == 100
    (survivor,) = found.survivors
    assert (survivor.mutant, survivor.reached, survivor.infected) == (own[-1].mutant, 3, 2)


def test_a_mutant_of_a_header_that_two_ops_have_is_one_and_caught_if_either_catches_it(mutant):
    header = mutant("shared.cuh")
    caught, missed, known = (Verdict(header, 2, 1, how) for how in ("values", "", ELSEWHERE))
    for first, second in ((caught, missed), (missed, caught), (caught, known)):
        found = outcome(("one", CUDA, [first]), ("two", CUDA, [second]))
        assert found.total(golden=False) == Tally(1, {"values": 1, "other oracle": 0, TIMEOUT: 0, DIED: 0})
        assert [row.tally.percent for row in found.rows] == [100, 100]
        assert found.survivors == []
    survived = outcome(("one", CUDA, [missed]), ("two", CUDA, [missed]))
    (survivor,) = survived.survivors
    assert (survivor.ops, survivor.reached, survivor.infected) == (("one", "two"), 4, 2)


def test_a_mutant_of_a_header_counts_where_a_case_reaches_it_or_all_ops_are_asked(mutant):
    unreached = [Verdict(mutant("shared.cuh"), 0, 0)]
    own = [Verdict(mutant(), 0, 0)]
    assert outcome(("one", CUDA, unreached)).total(golden=False).mutants == 0
    assert outcome(("one", CUDA, unreached), complete=True).total(golden=False).mutants == 1
    assert outcome(("one", CUDA, own)).total(golden=False).mutants == 1


@pytest.mark.parametrize(("caught", "golden", "code"), [(19, 9, 0), (18, 9, 9), (19, 8, 9), (20, 10, 0)])
def test_exit_codes(mutant, caught, golden, code):
    kernels = [Verdict(mutant(after=str(i)), 1, 1, "values" * (i < caught)) for i in range(20)]
    models = [Verdict(mutant("one.py", after=str(i)), 1, 1, "expect" * (i < golden)) for i in range(10)]
    found = outcome(("one", CUDA, kernels), ("one", GOLDEN, models))
    assert found.code(95, 90, []) == code
    assert found.code(95, 90, ["an entry is stale"]) == 1
    found.add(Unmutated(Side("one", CUDA), Finding("one", CUDA, "values", "wrong")))
    assert found.code(0, 0, []) == 1


def test_equivalents_are_left_out_and_said(mutant):
    found = outcome(("one", CUDA, [Verdict(mutant(line=line), 1, 0, "values" * (line < 4)) for line in (1, 2, 3, 4)]))
    found.equivalent = {mutant(line=4)}
    tally = found.total(golden=False)
    assert (tally.mutants, tally.equivalent, tally.caught, tally.percent) == (4, 1, 3, 100)
    assert found.survivors == []
    assert summary("kernels", tally, 95) == (
        "kernels: 3 of 3 mutants caught, 100.0 %; 1 known to be equivalent left out"
    )


def test_a_score_is_never_rounded_up():
    tally = Tally(2000, {"values": 1899})
    assert summary("kernels", tally, 95) == "kernels: 1899 of 2000 mutants caught, 94.9 %, below 95 %"


def test_a_survivor_is_shown_with_its_diff(mutant):
    (survivor,) = outcome(("one", CUDA, [Verdict(mutant(line=3), 4, 0)])).survivors
    head, seen, *diff = lines_of(survivor)
    assert head.endswith("one.cu:3: comparison survives on cuda-emu (one)")
    assert seen == (
        "  4 cases run it, and it makes a difference in none; to catch it: a case in which `row` equals `tokens`"
    )
    assert diff == ["@@ -3 +3 @@", "-  if (row < tokens) write(row);", "+  if (row <= tokens) write(row);"]
    assert unified(survivor.mutant).startswith("--- a/")
    with pytest.raises(ValueError, match="has changed"):
        mutated_text(Mutant(survivor.mutant.file, 3, 8, "comparison", "row < tokens", "", ""))


ENTRY = """[[equivalent]]
file = "{file}"
line = "if (row < tokens) write(row);"
operator = "comparison"
before = "row < tokens"
after = "{after}"
reason = "A reason."
"""


@pytest.fixture
def entries(tmp_path, mutant):
    def entries(after="row <= tokens"):
        path = tmp_path / "known.toml"
        path.write_text(ENTRY.format(file=mutant().file, after=after))
        return equivalents.read(path)

    return entries


def test_an_entry_names_mutants_by_what_stands_in_the_source(entries, mutant):
    mutants = {mutant(), mutant(line=2), mutant(after="row == tokens"), mutant("two.cu"), mutant(operator="constant")}
    assert entries().among(mutants) == {mutant(), mutant(line=2)}


def test_an_entry_without_its_mutant_is_stale(entries, mutant):
    known = entries(after="row != tokens")
    (problem,) = known.problems({mutant()}, {}, partial=False)
    assert "row < tokens -> row != tokens): there is no such mutant; remove the entry" in problem
    assert known.problems({mutant()}, {}, partial=True) == []
    assert known.problems({mutant("two.cu")}, {}, partial=False) == []
    mutant().file.unlink()
    assert len(known.problems(set(), {}, partial=False)) == 1


def test_an_entry_whose_mutants_are_all_caught_is_wrong(entries, mutant):
    first, second = mutant(), mutant(line=2)
    caught = {first: Verdict(first, 1, 1, "values", "batch_of_1025")}
    assert entries().problems({first, second}, caught, partial=False) == []
    (problem,) = entries().problems({first}, caught, partial=False)
    assert problem.endswith("values catches it on batch_of_1025; remove the entry")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "unknown key 'x'; entries are tables"),
        ("equivalent = 3", "equivalent: 3, expected tables"),
        ("[[equivalent]]\nfil = 'x'", "equivalent 1: fil: unknown key; there are file, line, operator"),
        ("[[equivalent]]\nfile = 3", "equivalent 1: file: 3, expected a text"),
        ("[[equivalent]]\nfile = 'x'", "equivalent 1: line: None, expected a text"),
        ("[[", "no TOML"),
    ],
)
def test_a_malformed_file_is_said(tmp_path, text, message):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(EquivalentsError, match=f"known.toml: .*{message}"):
        equivalents.read(path)


def test_the_repositorys_entries_name_files_that_exist():
    for entry in equivalents.read().entries:
        text = (ROOT / entry.file).read_text()
        assert entry.line.strip() in {row.strip() for row in text.splitlines()}, entry.title
