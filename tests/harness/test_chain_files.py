"""Chains as files, and on the command line."""

import json
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest

from opgold.harness import casefile, check, sequences
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.steps import machine, scriptfile
from opgold.harness.steps.play import play


def test_generated_chains_survive_a_file(tmp_path):
    class Never(GoldenBackend):
        name = "never"

        def has(self, op):
            return op == "unified_update_model_status"

        def spoil(self, values, outputs, variant):
            values["step_idx"] += variant.seed >= 3  # the fourth step

    for seed in range(5):
        outcome = machine.search(Never(), 20, seed)
        path = tmp_path / "chain.yaml"
        scriptfile.write(outcome.script, path)
        assert replace(scriptfile.read(path), path=None) == outcome.script


GOOD = """
    sequence: target_steps
    why: for example
    method: mtp
    drafts: 2
    slots: 2
    steps:
    - insert: {slot: 0, prompt: [8, 9], stops: [[10]]}
    - step: {}
    - step: {0: {right: 1, wrong: 1}}
    - preempt: 0
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sequence: target_steps", "sequence: steps", "sequence: 'steps', expected mtp_rounds or target_steps"),
        ("why:", "whi:", "unknown key 'whi'"),
        ("method: mtp", "method: mpt", "method: 'mpt', expected mtp or ngram or hybrid or naive"),
        ("    drafts: 2\n", "", "key 'drafts' is missing"),
        ("drafts: 2", "drafts: two", "drafts: 'two', expected an integer"),
        ("drafts: 2", "drafts: 2\n    layout: 2", "layout: 2, expected 0 or 1"),
        ("drafts: 2", "drafts: 2\n    hit_at_limit: 1", "hit_at_limit: 1, expected true or false"),
        ("slots: 2", "slots: 0", "slots: 0, expected at least 1"),
        ("- preempt: 0", "- prempt: 0", "step 4: no step 'prempt'; there are insert, step, block, resume, preempt"),
        ("- preempt: 0", "- preempt", "step 4: expected a mapping"),
        ("- preempt: 0", "- preempt: 1", "step 4 (preempt): slot 1 holds no request"),
        ("- preempt: 0", "- insert: {slot: 0, prompt: [8]}", "step 4 (insert): slot 0 is taken"),
        (", prompt: [8, 9]", "", "step 1 (insert): prompt missing"),
        ("prompt: [8, 9]", "prompt: 8", "step 1 (insert): prompt: 8, expected a list"),
        ("prompt: [8, 9]", "prompt: [18]", "step 1 (insert): prompt [18], expected tokens from 0 to 17"),
        ("prompt: [8, 9]", "prompt: [8], max_dec: 61", "step 1 (insert): max_dec 61, expected 1 to 60"),
        ("prompt: [8, 9]", f"prompt: [8], seed: {2**63 - 2}", "step 1 (insert): seed 9223372036854775806, expected"),
        ("[[10]]", "[[]]", "step 1 (insert): stops: expected at most 2 of 1 to 3 tokens"),
        ("slot: 0", "slot: 2", "step 1 (insert): slot 2, expected one of 2"),
        ("prompt: [8, 9]", "prompt: [8, 9], chunk: 3", "step 1 (insert): chunk 3, expected 0 to 2"),
        ("prompt: [8, 9]", "prompt: [8, 9], top_p: 0", "step 1 (insert): top_p 0.0, expected above 0, to 1"),
        ("prompt: [8, 9]", "prompt: [8, 9], top_p: high", "step 1 (insert): top_p: 'high', expected a number"),
        ("- step: {}", "- block: 0", "step 2 (block): slot 0 has not run its prompt"),
        ("- preempt: 0", "- resume: 0", "step 4 (resume): slot 0 is not blocked"),
        ("- preempt: 0", "- block: 1", "step 4 (block): slot 1 holds no request"),
        ("wrong: 1", "wrong: 1, second: [2]", "step 3 (step): slot 0: second [2], expected places of 2 drafts"),
        ("wrong: 1", "wrong: 1, uniform: 2", "step 3 (step): slot 0: uniform 2.0, expected 0 to 1"),
        ("drafts: 2", "drafts: 2\n    verify: top", "verify: 'top', expected top_p or greedy or target_match"),
        ("method: mtp", "method: naive\n    verify: greedy", "verify: greedy, expected target_match"),
        ("drafts: 2", "drafts: 2\n    update: old", "update: 'old', expected unified or legacy"),
        ("drafts: 2", "drafts: 2\n    candidates: 0", "candidates: 0, expected at least 1"),
        ("right: 1", "right: 2", "step 3 (step): slot 0 has Turn(right=2"),
        ("right: 1", "rihgt: 1", "step 3 (step): slot 0: unknown key 'rihgt'"),
        ("- step: {}", "- step: {2: {}}", "step 2 (step): slot 2, expected one of 2"),
    ],
)
def test_mistakes_are_named(old, new, message, tmp_path):
    path = tmp_path / "chain.yaml"
    path.write_text(textwrap.dedent(GOOD))
    assert play(scriptfile.read(path)).findings == []
    text = textwrap.dedent(GOOD.replace(old, new))
    assert text != textwrap.dedent(GOOD)
    path.write_text(text)
    with pytest.raises(casefile.CaseError) as error:
        check.read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_command_line(tmp_path):
    def opgold(*arguments):
        command = [sys.executable, "-m", "opgold", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    checked = opgold("check", "target_steps", "--backend", "cuda-emu", "--examples", 5, "--json", tmp_path / "out.json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    backend, *_ = json.loads((tmp_path / "out.json").read_text())["backends"]
    (result,) = backend["ops"]
    assert (result["op"], result["regressions"]) == ("target_steps", len(sequences.saved("target_steps")))
    assert result["generated"] >= 5
    path = scriptfile.saved()[0]
    assert "executed 1 cases: 1 regression" in opgold("check", "--backend", "cuda-emu", "--case", path).stdout
    assert "rounds played" in opgold("case", "check", path).stdout
    assert path.stem in opgold("show", "target_steps").stdout
    assert "target_steps" in opgold("list").stdout
