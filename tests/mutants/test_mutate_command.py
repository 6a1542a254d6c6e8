"""`opgold mutate` in a copy of this repository: weak and strong suites, changes, equivalents, exit codes."""

import json
import re
import shutil
import signal
import subprocess
import sys

import pytest

from opgold.harness import casefile
from opgold.harness.gates.mutation.show import key_of

OP = "speculate_get_seq_lens_output"
KERNEL = f"kernels/cuda/{OP}.cu"
MODEL = f"reference/{OP}.py"
GUARD = "  if (b < bsz) "
WEAK = f"""op: {OP}
why: It runs everything, and holds nothing to it.
inputs:
  seq_lens_this_time: [0]
  seq_lens_encoder: [0]
  seq_lens_decoder: [5]
relations: false
"""


def mutate(checkout, *arguments):
    return checkout.opgold("mutate", OP, "--examples", "0", "--jobs", "1", *arguments)


def weaken(checkout):
    for path in (checkout.root / "cases" / "regressions" / OP).iterdir():
        path.unlink()
    (checkout.root / "cases" / "regressions" / OP / "weak.yaml").write_text(WEAK)


def test_a_weak_suite_leaves_survivors_with_their_diffs_and_a_case_that_catches_them_is_told(checkout, tmp_path):
    strong = mutate(checkout, "--backend", "cuda-emu", "--fail-under", "80", "--json", tmp_path / "strong.json")
    assert strong.returncode == 0, strong.stdout + strong.stderr
    score = json.loads((tmp_path / "strong.json").read_text())["kernels"]
    assert score["caught"] > 10
    telling = checkout.root / "cases" / "regressions" / OP / "every_kind_of_slot.yaml"
    case = telling.read_text()

    weaken(checkout)
    weak = mutate(checkout, "--backend", "cuda-emu", "--fail-under", "80", "--json", tmp_path / "weak.json")
    assert weak.returncode == 9, weak.stdout + weak.stderr
    document = json.loads((tmp_path / "weak.json").read_text())
    assert document["kernels"]["mutants"] == document["kernels"]["caught"] + len(document["survivors"])
    assert document["kernels"]["percent"] < score["percent"]
    for survivor in document["survivors"]:
        *_, hunk, removed, added = survivor["diff"].splitlines()
        line = (checkout.root / survivor["file"]).read_text().splitlines()[survivor["line"] - 1]
        assert (hunk, removed[1:]) == (f"@@ -{survivor['line']} +{survivor['line']} @@", line)
        assert added[1:] != line
        head = f"{survivor['file']}:{survivor['line']}: {survivor['operator']} survives on cuda-emu ({OP})\n"
        seen = survivor["infected"] or "none"
        told = f"  1 case runs it, and it makes a difference in {seen}; to catch it: {survivor['hint']}\n"
        assert head + told + "\n".join((hunk, removed, added)) in weak.stdout
    assert {survivor["infected"] for survivor in document["survivors"]} == {0, 1}

    telling.write_text(case)
    told = checkout.opgold("case", "check", "--mutants", telling)
    assert told.returncode == 0, told.stdout + told.stderr
    count = re.search(r"; (\d+) of the (\d+) that survived the last `opgold mutate`\n", told.stdout)
    assert count, told.stdout
    caught, survived = map(int, count.groups())
    assert 0 < caught <= survived == len(document["survivors"]), told.stdout
    assert told.stdout.count("@@ -") == caught


def test_a_search_keeps_cases_that_catch_what_survived(checkout, tmp_path):
    weaken(checkout)
    options = ("--backend", "cuda-emu", "--fail-under", "0", "--json", tmp_path / "found.json")
    searched = mutate(checkout, *options, "--search", "20", "--out", tmp_path)
    assert searched.returncode == 0, searched.stdout + searched.stderr
    survivors = json.loads((tmp_path / "found.json").read_text())["survivors"]
    found = tmp_path / "found" / OP
    kept = sorted(found.glob("*.yaml"))
    caught = sum(casefile.read(path).why.count("becomes") for path in kept)
    assert f"searched: {len(kept)} cases catch {caught} of {len(survivors)} survivors" in searched.stdout
    shutil.copytree(found, checkout.root / "cases" / "regressions" / OP, dirs_exist_ok=True)
    again = mutate(checkout, *options)
    assert again.returncode == 0, again.stdout + again.stderr
    left = json.loads((tmp_path / "found.json").read_text())["survivors"]
    assert caught > 0
    assert sum(key_of(mutant) in map(key_of, left) for mutant in survivors) == len(survivors) - caught
    assert re.search(rf"^{OP} on cuda-emu: {len(left)} of \d+ mutants not caught$", again.stderr, re.MULTILINE)


def test_only_what_changed_is_judged(checkout, tmp_path):
    checkout.edit(KERNEL, GUARD, GUARD.replace("b < bsz", "bsz > b"))
    options = ("--changed", "HEAD", "--backend", "cuda-emu", "--fail-under", "0")
    changed = mutate(checkout, *options, "--json", tmp_path / "changed.json")
    assert changed.returncode == 0, changed.stdout + changed.stderr
    document = json.loads((tmp_path / "changed.json").read_text())
    number = 1 + (checkout.root / KERNEL).read_text().split("bsz > b")[0].count("\n")
    places = {(mutant["file"], mutant["line"]) for mutant in (*document["survivors"], *document["caught"])}
    assert places == {(KERNEL, number)}
    checkout.git("checkout", "--quiet", KERNEL)
    nothing = mutate(checkout, "--changed", "HEAD")
    assert (nothing.returncode, nothing.stdout.strip().splitlines()[-1]) == (0, "there is no mutant to judge")


def test_a_finding_on_what_is_not_mutated_comes_first(checkout):
    checkout.edit(MODEL, "seq_lens_output[b] = 1", "seq_lens_output[b] = 2")
    wrong = mutate(checkout, "--backend", "golden", "--fail-under-golden", "0")
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert f"{OP} · golden · expect" in wrong.stdout


def test_equivalents_are_left_out_and_wrong_ones_fail(checkout, tmp_path):
    listed = mutate(checkout, "--backend", "golden", "--fail-under-golden", "0", "--json", tmp_path / "all.json")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    document = json.loads((tmp_path / "all.json").read_text())
    lines = {file: (checkout.root / file).read_text().splitlines() for file in (MODEL,)}

    def entry(mutant):
        given = {key: mutant[key] for key in ("file", "operator", "before", "after")}
        given |= {"line": lines[mutant["file"]][mutant["line"] - 1].strip(), "reason": "Planted."}
        return "[[equivalent]]\n" + "".join(f"{key} = '''{value}'''\n" for key, value in given.items())

    known = tmp_path / "known.toml"
    options = ("--backend", "golden", "--fail-under-golden", "0", "--equivalents", known)
    survivors = [mutant for mutant in document["survivors"] if mutant["file"] == MODEL]
    caught = next(mutant for mutant in document["caught"] if mutant["file"] == MODEL)
    known.write_text("".join(map(entry, survivors)))
    left_out = mutate(checkout, *options)
    assert left_out.returncode == 0, left_out.stdout + left_out.stderr
    assert f"; {len(survivors)} known to be equivalent left out" in left_out.stdout
    known.write_text(entry(caught))
    wrong = mutate(checkout, *options)
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert f"{caught['by']} catches it on {caught['case']}; remove the entry" in wrong.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--changed", "nowhere"], "nowhere: no such revision"),
        (["--json", "no/mutants.json"], "--json no/mutants.json: there is no folder no"),
        (["--backend", "nothing"], "no backend 'nothing'"),
        (["--equivalents", "no.toml"], "no.toml: No such file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(checkout, arguments, message):
    result = mutate(checkout, *arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_what_was_found_is_shown_when_interrupted(checkout, name):
    command = [sys.executable, "-m", "opgold", "mutate", OP, "--backend", "golden", "--jobs", "1"]
    script = (
        "import sys, os, signal\n"
        "from opgold.harness.gates.mutation import mutate\n"
        "judge = mutate.driver.judge\n"
        "def interrupted(tasks, jobs):\n"
        "    for number, message in enumerate(judge(tasks, jobs)):\n"
        "        yield message\n"
        "        if number == 9:\n"
        f"            os.kill(os.getpid(), signal.{name})\n"
        "mutate.driver.judge = interrupted\n"
        "from opgold.harness.cli import main\n"
        f"sys.argv = {['opgold', *command[3:]]}\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    (checkout.root / "interrupted.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "interrupted.py"],
        cwd=checkout.root,
        env=checkout.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGINT, done.stdout + done.stderr
    assert "golden models: " in done.stdout
    assert "Traceback" not in done.stderr
