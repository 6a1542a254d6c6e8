"""Sequences: planted faults are found, shrunk, saved and shown again; files read back and their mistakes are named."""

import json
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from opgold.harness import backends, casefile, check
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.backends.native import Native
from opgold.harness.rounds import machine, scriptfile
from opgold.harness.rounds.account import Account
from opgold.harness.rounds.play import Player, play
from opgold.harness.rounds.script import Block, Insert, Resume, Round, Script, Turn
from opgold.harness.rounds.world import World
from opgold.kernels import build
from opgold.kernels.report import Fault, Place, Report

SEQUENCES = 50  # what the default profile plays
ENOUGH = 500  # the rarest planted fault shows in one of 50; what is drawn also hangs on which modules are loaded


class Planted(GoldenBackend):
    """A fault in one op."""

    name = "planted"
    op = ""

    def call(self, signature, values, variant):
        if signature.op != self.op:
            return super().call(signature, values, variant)
        return self.spoiled(signature, values, variant)


class IgnoresRollback(Planted):
    op = "update_attn_mask_offsets"

    def spoiled(self, signature, values, variant):
        values["mask_rollback"][:] = 0
        return super(Planted, self).call(signature, values, variant)


class KeepsRollback(Planted):
    op = "update_attn_mask_offsets"

    def spoiled(self, signature, values, variant):
        before = values["mask_rollback"].copy()
        report = super(Planted, self).call(signature, values, variant)
        values["mask_rollback"][:] = before
        return report


class AlwaysRollsBackAll(Planted):
    """Takes back n - 1 tokens also where the draft stopped early."""

    op = "draft_model_preprocess"

    def spoiled(self, signature, values, variant):
        recompute = values["recompute_token_num"].copy()
        right = np.minimum(recompute, np.maximum(values["base_model_seq_lens_this_time"] - 2, 0))
        decode = (values["seq_lens_encoder"] == 0) & ~values["base_model_stop_flags"] & ~values["batch_drop"]
        going_on = decode & ~values["stop_flags"]
        report = super(Planted, self).call(signature, values, variant)
        if not values["splitwise_prefill"]:
            values["mask_rollback"] += np.where(decode, recompute - right, 0).astype(np.int32)
            values["seq_lens_decoder"] -= np.where(going_on, recompute - right, 0).astype(np.int32)
        return report


class KeepsBlockFlag(World):
    """Insertion as it was found upstream."""

    def reset_flags(self, slot):
        before = self.draft.block[slot]
        super().reset_flags(slot)
        self.draft.block[slot] = before


class SwapsFlags(World):
    def preprocess(self):
        op, values = super().preprocess()
        if self.script.stateful and self.script.scheduler == "v0":
            values["is_block_step"], values["batch_drop"] = values["batch_drop"], values["is_block_step"]
        return op, values


PLANTED = {  # what is planted, and the steps of the shortest sequence that shows it
    "rollback ignored": ({"driver": IgnoresRollback()}, 2),
    "rollback not cleared": ({"driver": KeepsRollback()}, 2),
    "rolled back by n - 1 after an early stop": ({"driver": AlwaysRollsBackAll()}, 3),
    "block flag not reset by insertion": ({"world": KeepsBlockFlag}, 8),
    "block flag and drop swapped": ({"world": SwapsFlags}, 4),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_found_by_the_account_alone_and_shrinks(planted, seed, tmp_path):
    fault, steps = PLANTED[planted]
    outcome = machine.search(None, ENOUGH, seed, **fault)
    assert outcome.script is not None, "not found"
    assert len(outcome.script.steps) <= steps + 3, outcome.script  # one cut at a time may end in a dead end
    (finding,) = check.save_sequence(outcome.script, outcome.findings, tmp_path)
    assert finding.oracle == "sequence"
    assert finding.slot is not None
    again = scriptfile.read(finding.saved)
    assert [f.message for f in play(again, **fault).findings] == [finding.message]
    assert play(again).findings == [], "the models themselves keep to the account"


@pytest.mark.parametrize("backend", [IgnoresRollback(), KeepsRollback(), AlwaysRollsBackAll()])
def test_a_kernel_with_the_fault_departs_from_the_golden_model(backend):
    outcome = machine.search(backend, SEQUENCES)
    assert {finding.backend for finding in outcome.findings} == {"planted"}
    assert outcome.findings[0].op == backend.op
    assert "another value" in outcome.findings[0].message
    assert outcome.findings[0].index is not None


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ({"driver": IgnoresRollback()}, "mixed_three_steps"),
        ({"driver": AlwaysRollsBackAll()}, "end_at_substep_0"),
        ({"driver": AlwaysRollsBackAll()}, "end_at_substep_1"),
        ({"driver": AlwaysRollsBackAll()}, "limit_inside_a_round"),
        ({"driver": IgnoresRollback()}, "decode_instance_one_step"),
        ({"world": KeepsBlockFlag}, "resumed_and_stopped_in_one_round"),
        ({"world": SwapsFlags}, "dropped_by_the_first_scheduler"),
    ],
)
def test_a_kept_sequence_shows_the_fault_that_it_is_about(fault, name):
    script = next(scriptfile.read(path) for path in scriptfile.saved() if path.stem == name)
    assert play(script, **fault).findings


def test_a_wrong_base_at_the_handover_is_found():
    insert = Insert(0, 10, rollback=0)
    (finding,) = play(Script("stateful", 3, 1, (insert, Round()), "decode")).findings
    assert finding.message.startswith("step 2 (round), substep 0: I1")
    assert (finding.expected, finding.got) == ("10", "11")


def test_a_resumed_row_without_its_tokens_is_found():
    """T.now at preprocess must tell how many drafts the row's last round made."""

    class Forgets(World):
        def resume(self, step):
            super().resume(step)
            self.target.this[step.slot] = 1

    steps = (Insert(0, 4), Round(), Block(0), Round(), Resume(0), Round({0: Turn(accept=2)}))
    (finding,) = play(Script("stateful", 3, 1, steps), world=Forgets).findings
    assert "I1" in finding.message
    assert int(finding.got) == int(finding.expected) + 2


def test_literal_ends_are_compared():
    steps = (Insert(0, 2), Round({0: Turn(ends=((1, 2), (4,)))}))
    (finding,) = play(Script("stateless", 2, 1, steps)).findings
    assert (finding.expected, finding.got) == ("[4]", "[3]")
    assert "substep 1: the ends are those that the sequence gives" in finding.message


def test_a_fault_that_a_device_saw_is_a_finding():
    class Faulty(GoldenBackend):
        name = "faulty"

        def spoil(self, values, outputs, variant):
            fault = Fault("bounds", Place((0, 0, 0), (5, 0, 0)), argument="stop_flags", detail="past the end")
            return Report(None, 0.0, faults=[fault]) if "base_model_step_idx" in values else None

    (finding,) = play(Script("stateful", 1, 1, (Insert(0, 1), Round())), Faulty()).findings
    assert (finding.op, finding.backend) == ("draft_model_preprocess", "faulty")
    assert "past the end by block 0 thread 5" in finding.message


def test_every_op_is_called_on_the_backend_and_only_on_copies():
    class Counting(GoldenBackend):
        def __init__(self):
            self.calls = []

        def call(self, signature, values, variant):
            self.calls.append(signature.op)
            return super().call(signature, values, variant)

    backend = Counting()
    played = play(Script("stateful", 3, 2, (Insert(1, 5), Round(), Round({1: Turn(3)}))), backend)
    assert played.findings == []
    assert len(backend.calls) == played.compared == 2 * (2 + 3 * 3)


def test_generated_sequences_hang_on_the_seed_and_reach_every_state(monkeypatch):
    seen = []
    take = Player.take

    def record(self, step):
        seen.append((self.script.form, self.script.instance, self.script.scheduler, step))
        return take(self, step)

    monkeypatch.setattr(Player, "take", record)
    machine.search(None, 20, seed=3)
    first = list(seen)
    seen.clear()
    machine.search(None, 20, seed=3)
    assert seen == first
    seen.clear()
    machine.search(None, 60, seed=4)
    assert seen[: len(first)] != first
    assert {form for form, *_ in seen} == {"stateful", "stateless"}
    assert {instance for _, instance, *_ in seen} == {"mixed", "prefill", "decode"}
    assert {type(step).__name__ for *_, step in seen} == {"Insert", "Round", "Block", "Resume", "Preempt"}


def test_generated_sequences_survive_a_file(tmp_path):
    class Never(GoldenBackend):
        name = "never"

        def has(self, op):
            return op == "draft_model_postprocess"

        def spoil(self, values, outputs, variant):
            late = variant.seed >= 8  # the ninth call: a few rounds on
            return Report(f"call {variant.seed}", 0.0) if late else None

    for seed in range(5):
        outcome = machine.search(Never(), 20, seed)
        path = tmp_path / "sequence.yaml"
        scriptfile.write(outcome.script, path)
        assert replace(scriptfile.read(path), path=None) == outcome.script


GOOD = """
    sequence: mtp_rounds
    why: for example
    form: stateful
    model_steps: 2
    slots: 2
    steps:
    - insert: {slot: 0, prompt: 3}
    - round: {0: {ends: [[1, 2, 3], [4]]}}
    - block: 0
    - resume: 0
    - round: {0: {accept: 3, stop: true}}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sequence: mtp_rounds", "sequence: rounds", "sequence: 'rounds', expected mtp_rounds"),
        ("why:", "whi:", "unknown key 'whi'"),
        ("form: stateful", "form: state", "form: 'state', expected stateful or stateless"),
        ("    model_steps: 2\n", "", "key 'model_steps' is missing"),
        ("model_steps: 2", "model_steps: two", "model_steps: 'two', expected an integer"),
        ("slots: 2", "slots: 0", "slots: 0, expected at least 1"),
        ("- block: 0", "- blok: 0", "step 3: no step 'blok'; there are insert, round"),
        ("- block: 0", "- block", "step 3: expected a mapping"),
        ("prompt: 3", "promt: 3", "step 1 (insert): unknown key 'promt'"),
        (", prompt: 3", "", "step 1 (insert): prompt missing"),
        ("prompt: 3", "prompt: 65", "step 1 (insert): chunk 65"),
        ("prompt: 3", "prompt: 3, max_dec: 61", "step 1 (insert): max_dec 61, expected 1 to 60"),
        ("prompt: 3", "prompt: 3, drafts: 2", "step 1 (insert): drafts, rollback and recompute are for a decode"),
        ("slot: 0", "slot: 2", "step 1 (insert): slot 2, expected one of 2"),
        ("- resume: 0", "- resume: 1", "step 4 (resume): slot 1 holds no request"),
        ("- resume: 0", "- block: 0", "step 4 (block): slot 0 is already blocked"),
        ("- block: 0", "- preempt: 0", "step 4 (resume): slot 0 holds no request"),
        ("accept: 3", "accept: 4", "step 5 (round): slot 0 accepts 4, expected 1 to 3"),
        ("stop: true", "stop: 1", "step 5 (round): slot 0: stop: 1, expected true or false"),
        ("stop: true", "end: 2", "step 5 (round): slot 0 ends at substep 2, expected 0 to 1"),
        ("[1, 2, 3], [4]", "[1, 2, 3]", "step 2 (round): slot 0 has ends for 1 substeps, expected 2"),
        ("[1, 2, 3], [4]", "1, 2", "step 2 (round): slot 0: ends: expected a list of integers for each substep"),
    ],
)
def test_mistakes_are_named(old, new, message, tmp_path):
    path = tmp_path / "sequence.yaml"
    path.write_text(textwrap.dedent(GOOD))
    assert play(scriptfile.read(path)).findings == []
    text = textwrap.dedent(GOOD.replace(old, new))
    assert text != textwrap.dedent(GOOD)
    path.write_text(text)
    with pytest.raises(casefile.CaseError) as error:
        check.read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_the_account_counts_positions_without_any_op():
    account = Account(Script("stateful", 3, 1))
    account.take(Insert(0, 10))
    (share,) = account.take(Round()).values()
    assert [list(run) for run in share.runs] == [list(range(10)), [10], [11]]
    (share,) = account.take(Round({0: Turn(accept=4, end=0)})).values()
    assert [list(run) for run in share.runs] == [[10, 11, 12, 13], [], []]
    assert (share.cached, share.drafts) == (14, 1)


def test_an_edit_of_a_kernel_is_found_on_the_emulator(tmp_path):
    """A kernel that does not forget what it has rolled back."""

    class Edited(Native):
        def source(self, op):
            return path if op == "update_attn_mask_offsets" else super().source(op)

    shutil.copytree(build.source_of("update_attn_mask_offsets").parent, tmp_path / "cuda")
    path = tmp_path / "cuda" / "update_attn_mask_offsets.cu"
    text = path.read_text()
    assert "mask_rollback[slot] = 0;" in text
    path.write_text(text.replace("mask_rollback[slot] = 0;", ""))
    outcome = machine.search(Edited("cuda-emu", "checked"), SEQUENCES)
    assert [(f.op, f.argument) for f in outcome.findings] == [("update_attn_mask_offsets", "mask_rollback")]
    assert len(outcome.script.steps) <= 3


def opgold(*arguments):
    command = [sys.executable, "-m", "opgold", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_command_line(tmp_path):
    checked = opgold("check", "mtp_rounds", "--examples", 5, "--json", tmp_path / "out.json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (result,) = json.loads((tmp_path / "out.json").read_text())["backends"][0]["ops"]
    assert (result["op"], result["regressions"]) == ("mtp_rounds", len(scriptfile.saved()))
    assert result["generated"] >= 5
    path = scriptfile.saved()[0]
    assert "executed 1 cases on xpu-emu: 1 regression" in opgold("check", "--case", path).stdout
    assert "rounds played" in opgold("case", "check", path).stdout
    assert path.stem in opgold("show", "mtp_rounds").stdout
    assert "mtp_rounds" in opgold("list").stdout
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(textwrap.dedent(GOOD).replace("- block: 0", "- block: 1"))
    refused = opgold("check", "--case", wrong)
    assert refused.returncode == 2
    assert refused.stderr == f"error: {wrong}: step 3 (block): slot 1 holds no request\n"


def test_a_file_with_findings_points_at_itself(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(textwrap.dedent(GOOD).replace("[4]]", "[5]]"))
    (result,) = check.check_cases([path], backends.get("cuda-emu"))
    assert [finding.saved for finding in result.findings] == [path]
    assert (result.op, result.executed) == ("mtp_rounds", 1)
