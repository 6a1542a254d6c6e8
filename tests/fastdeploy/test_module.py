"""A module's ops on Paddle tensors: what is said of right ones, and of each fault."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import paddle
import pytest

from opgold.harness import backends, casefile, check, session
from opgold.harness.backends.apart import Apart
from opgold.harness.backends.base import UnknownBackend
from opgold.harness.paddle import contract as contracts
from opgold.harness.paddle.form import FOLDER, FormError, form_of, parse
from opgold.harness.paddle.parameters import CallMismatch
from opgold.harness.search import search
from opgold.reference import schema

OP = "speculate_update_seq_lens_this_time"  # in place
NEW = "speculate_get_seq_lens_output"  # returns one tensor
NAMES = form_of(OP).order


def findings(backend, op, every=1):
    """What every so-many-th kept case of an op finds."""
    paths = casefile.regressions(op)[::every]
    return [finding for path in paths for finding in check.run_case(casefile.read(path), backend)[1]]


def kinds(found):
    return {(finding.oracle, finding.argument) for finding in found}


@pytest.mark.parametrize("op", schema.ops())
def test_a_right_module_has_no_findings(module, op):
    backend = module(**{op: module.right(op)})
    assert backend.has(op)
    ran = [check.run_case(casefile.read(path), backend) for path in casefile.regressions(op)[:1]]
    assert [finding for _, found in ran for finding in found] == []
    assert all(executed for executed, _ in ran)


def test_generated_cases_run_too_hostile_ones_on_the_model_alone(module):
    calls = []
    backend = module(**{OP: module.changed(OP, lambda tensors, returned: calls.append(tensors))})
    outcome = search(OP, backend, 30)
    assert outcome.case is None
    assert outcome.hostile > 0
    assert len(calls) == 3 * (outcome.executed - outcome.hostile)


def first(tensor, value):
    tensor[0] = value


PLANTED = {
    "a wrong value": (OP, lambda t, r: first(t["seq_lens_this_time"], 77), "values", "seq_lens_this_time"),
    "an input changed": (OP, lambda t, r: first(t["seq_lens_decoder"], 77), "inputs", "seq_lens_decoder"),
    "a buffer that is copied over": (
        OP,
        lambda t, r: t["seq_lens_this_time"].copy_(
            paddle.zeros([t["seq_lens_this_time"].shape[0] + 1], "int32"), False
        ),
        "address",
        None,
    ),
    "a buffer that shrinks": (
        OP,
        lambda t, r: t["seq_lens_this_time"].copy_(t["seq_lens_this_time"][:1].clone(), False),
        "address",
        None,
    ),
    "nothing returned": (NEW, lambda t, r: None, "launch", None),
    "another dtype": (NEW, lambda t, r: r.astype("int64"), "launch", None),
    "another shape": (NEW, lambda t, r: r[:-1], "launch", None),
    "a wrong new tensor": (NEW, lambda t, r: r + 1, "values", "seq_lens_output"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_faults_are_found(module, fault):
    op, change, oracle, argument = PLANTED[fault]
    found = findings(module(**{op: module.changed(op, change)}), op)
    assert found
    assert {finding.oracle for finding in found} == {oracle}
    assert argument in {finding.argument for finding in found}


def test_a_reallocation_is_found_though_the_shape_is_as_before(module):
    def regrow(tensors, returned):
        tensor = tensors["seq_lens_this_time"]
        content = tensor.clone()
        tensor.copy_(paddle.zeros([1000 + len(tensor)], "int32"), False)
        tensor.copy_(content, False)

    found = findings(module(**{OP: module.changed(OP, regrow)}), OP)
    assert kinds(found) == {("address", "seq_lens_this_time")}


def test_state_from_call_to_call_is_found(module):
    calls = []

    def count(tensors, returned):
        calls.append(0)
        return returned + len(calls) - 1  # the first call is right

    found = findings(module(**{NEW: module.changed(NEW, count)}), NEW, every=100)
    assert kinds(found) == {("schedule", "seq_lens_output")}


def test_what_an_op_raises_is_said(module):
    def refuse(tensors, returned):
        paddle.reshape(paddle.zeros([3], "int32"), [2])

    (finding, *_) = findings(module(**{OP: module.changed(OP, refuse)}), OP)
    assert finding.oracle == "launch"
    assert "ValueError" in finding.message
    assert "\n" not in finding.message


@pytest.mark.parametrize("shape", ["tensor", "list", "with the tensors in place"])
def test_new_tensors_are_found_among_what_is_returned(module, shape):
    op = "update_attn_mask_offsets"
    change = {
        "tensor": lambda t, r: r,
        "list": lambda t, r: [r],
        "with the tensors in place": lambda t, r: [r, t["decode_states"], t["mask_rollback"]],
    }[shape]
    assert findings(module(**{op: module.changed(op, change)}), op, every=6) == []


def test_another_order_is_said(module):
    names = (NAMES[1], NAMES[0], *NAMES[2:])
    (finding,) = check.check_op(OP, module(**{OP: module.right(OP, names)}), 0, 0).findings
    assert finding.oracle == "build"
    assert f"it takes {NAMES[1]} where the call has {NAMES[0]}" in finding.message


def test_another_arity_is_said(module):
    (finding,) = check.check_op(OP, module(**{OP: module.right(OP, NAMES[:-1])}), 0, 0).findings
    assert f"it lacks {NAMES[-1]}" in finding.message
    (finding,) = check.check_op(OP, module(**{OP: module.right(OP, (*NAMES, "extra"))}), 0, 0).findings
    assert "it takes 6, the call has 5" in finding.message


def test_pybind11s_docstring_tells_the_arity(module):
    def function(*given):
        raise AssertionError

    function.__doc__ = f"{OP}(arg0: paddle::Tensor, arg1: paddle::Tensor, arg2: std::vector<int, int>) -> None\n"
    (finding,) = check.check_op(OP, module(**{OP: function}), 0, 0).findings
    assert "it takes 3, the call has 5" in finding.message


def test_an_op_that_is_not_there_is_said(module):
    backend = module(**{OP: module.right(OP)})
    (checked,) = session.check_named([OP, NEW], [backend], 0, 0, 1)
    assert checked.missing == [NEW]
    assert [result.op for result in checked.results] == [OP]


def test_one_name_of_two_versions_is_told_by_its_arguments(module):
    older, newer = "update_attn_mask_offsets", "update_attn_mask_offsets_stateless"
    backend = module(**{older: module.right(newer)})
    assert [backend.has(op) for op in (older, newer)] == [False, True]
    assert findings(backend, newer, every=6) == []
    backend = module(**{older: module.right(older)})
    assert [backend.has(op) for op in (older, newer)] == [True, False]


def contract(tmp_path, entry):
    path = tmp_path / "contract.yaml"
    path.write_text(f"module: planted_ops\ndifferences:\n  - {entry}\n")
    return path


def test_the_contract_says_which_version_a_name_is(module, tmp_path):
    packed = "draft_model_update_packed"
    functions = {"draft_model_update": module.right(packed)}
    assert module(**functions).has("draft_model_update")
    path = contract(tmp_path, f"{{op: {packed}, version: true, reason: newer}}")
    backend = module(contract=path, **functions)
    assert backend.has(packed)
    assert not backend.has("draft_model_update")
    assert findings(backend, packed, every=6) == []


def test_lengths_that_count_one_more_are_a_difference_that_can_be_named(module, tmp_path):
    op = "verify_draft_tokens"

    def count_one_more(tensors, returned):
        tokens, lengths = tensors["step_output_ids"].numpy(), tensors["step_output_len"]
        ended = [
            n > 0 and tokens[b, n - 1] in tensors["end_tokens"].numpy() and 0 < n < tokens.shape[1]
            for b, n in enumerate(lengths.numpy())
        ]
        lengths.add_(paddle.to_tensor(np.array(ended, np.int32)))

    function = module.changed(op, count_one_more)
    assert kinds(findings(module(**{op: function}), op, every=4)) == {("values", "step_output_len")}
    path = contract(tmp_path, f"{{op: {op}, rule: length_of_ended_rows, reason: as FastDeploy}}")
    assert findings(module(contract=path, **{op: function}), op, every=4) == []


def test_a_tail_that_is_not_written_is_a_difference_that_can_be_named(module, tmp_path):
    op = "build_sampling_params"

    def spoil(tensors, returned):
        for tensor in returned:
            tensor[int(tensors["cu_seqlens_q_output"][-1]) :] = 5
        return returned

    function = module.changed(op, spoil)
    assert findings(module(**{op: function}), op)
    outputs = ", ".join(f"{name}: cu_seqlens_q_output" for name in form_of(op).returns)
    path = contract(tmp_path, f"{{op: {op}, up_to: {{{outputs}}}, reason: not written}}")
    assert findings(module(contract=path, **{op: function}), op) == []


def test_a_constant_of_the_module_takes_the_place_of_the_attribute(module, tmp_path):
    op, modulus = "build_sampling_params", 2**31 - 2
    seen = []

    def look(tensors, returned):
        seen.append(int(tensors["infer_seed"].numpy().max(initial=0)))
        return returned

    path = contract(tmp_path, f"{{op: {op}, values: {{max_infer_seed: {modulus}}}, reason: a constant}}")
    right = module.right(op)
    form = form_of(op)

    def function(*given):
        return module.right(op, (*form.order, "max_infer_seed"))(*given, modulus)

    function.__signature__ = right.__signature__
    outcome = search(op, module(contract=path, **{op: function}), 40)
    assert outcome.case is None
    assert outcome.executed > 10


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{op: nonsense, version: true, reason: x}", "no op 'nonsense'"),
        ("{op: rebuild_padding, version: true}", "reason: is missing"),
        ("{op: rebuild_padding, reason: x, turn: 1}", "turn: expected one of"),
        ("{op: rebuild_padding, reason: x, rule: none}", "rule: 'none'"),
        ("{op: rebuild_padding, reason: x, values: {rows: 1}}", "values: 'rows'"),
    ],
)
def test_a_contract_that_cannot_be_used_says_why(module, tmp_path, entry, said):
    from opgold.harness.paddle.contract import ContractFileError

    with pytest.raises(ContractFileError, match="difference 1") as error:
        module(contract=contract(tmp_path, entry))
    assert said in str(error.value)


def test_the_contracts_that_ship_can_be_used():
    for platform, op in (("gpu", "verify_draft_tokens"), ("xpu", "build_sampling_params")):
        assert contracts.of(f"fastdeploy.model_executor.ops.{platform}").of(op)
    assert contracts.of("another_module").differences == ()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"turn": 1}, "turn: 1, expected one of the keys"),
        ({"order": ["seq_lens_encoder"]}, "order: ['seq_lens_encoder'], expected each of seq_lens_this_time"),
        ({"allocated": {"seq_lens_encoder": ["bsz"]}}, "allocated: 'seq_lens_encoder', expected an InOut argument"),
        ({"beyond": {"speed": None}}, "beyond: 'speed', expected an argument or attribute"),
        ({"host": ["speed"]}, "host: 'speed'"),
    ],
)
def test_a_description_that_does_not_fit_its_op_says_why(document, said):
    with pytest.raises(FormError) as error:
        parse(schema.load(OP), document, Path("x.yaml"))
    assert said in str(error.value)


def test_every_description_is_of_an_op():
    assert {path.stem for path in FOLDER.glob("*")} <= set(schema.ops())


def test_modules_that_cannot_be_used_are_said():
    assert "cannot be imported" in backends.get("module:no_such_module").unavailable()
    with pytest.raises(UnknownBackend):
        backends.get("module:")


CRASHING = f"""
import os
import signal
import time

import paddle


def {OP}(seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, real_bsz, value):
    if value == 13:
        os.kill(os.getpid(), signal.SIGSEGV)
    if value == 14:
        time.sleep(60)
    for slot in range(real_bsz):
        if seq_lens_encoder[slot] == 0:
            seq_lens_this_time[slot] = value if seq_lens_decoder[slot] != 0 else 0
    print("what a module prints", value)


def {NEW}(seq_lens_this_time):
    return seq_lens_this_time
"""


def test_a_call_that_kills_its_process_is_a_finding_and_the_next_gets_a_fresh_one(tmp_path, monkeypatch):
    (tmp_path / "crashing_ops.py").write_text(CRASHING)
    monkeypatch.syspath_prepend(tmp_path)  # the process gets this one's path
    backend = Apart("module:crashing_ops", time_limit=5)
    assert backend.unavailable() == ""
    assert [op for op in schema.ops() if backend.has(op)] == [NEW, OP]
    with pytest.raises(CallMismatch, match="it lacks seq_lens_encoder, seq_lens_decoder"):
        backend.prepare(NEW)
    case = casefile.read(next(p for p in casefile.regressions(OP) if casefile.read(p).refused is None))

    def found(value):
        changed = replace(case, inputs={**case.inputs, "value": value}, expect={}, path=None)
        return [(finding.oracle, finding.message) for finding in check.run_case(changed, backend)[1]]

    try:
        assert found(12) == []
        assert found(13) == [("bounds", f"in a call of {OP}: the process died: SIGSEGV")]
        assert found(12) == []
        backend._time_limit = 0.5
        assert found(14) == [("launch", f"in a call of {OP}: no answer within 0.5 s")]
    finally:
        backend.close()


def test_a_module_that_dies_as_it_is_imported_cannot_be_used(tmp_path, monkeypatch):
    (tmp_path / "dying_ops.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    said = Apart("module:dying_ops").unavailable()
    assert said == "dying_ops cannot be imported: the process ended with exit code 3"


def test_the_command_line_takes_a_module(tmp_path):
    (tmp_path / "few_ops.py").write_text(
        f"def {OP}(seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, real_bsz, value):\n    pass\n"
    )
    command = [sys.executable, "-m", "opgold", "check", OP, "--backend", "module:few_ops", "--examples", "5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert f"{OP} · module:few_ops · values" in done.stdout
