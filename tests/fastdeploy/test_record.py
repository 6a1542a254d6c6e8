"""Calls of a module's ops in a program: kept as cases that differ, played again, and never changed by the recording."""

import json
import os
import sys
from types import SimpleNamespace

import numpy as np
import paddle
import pytest

from opgold.harness import backends, casefile, check
from opgold.harness.backends.base import Variant
from opgold.harness.paddle.observed import Snapshot
from opgold.harness.record import check as replay, recording
from opgold.harness.record.folder import Recorded, Unrecordable
from opgold.harness.record.imports import Watch
from opgold.harness.record.spool import Spool
from opgold.harness.runner import arguments
from opgold.reference import schema

OP = "speculate_update_seq_lens_this_time"  # in place: a decode row gets `value`, an idle one 0, a prompt keeps its own
NEW = "speculate_get_seq_lens_output"  # returns one tensor


def ints(*values):
    return paddle.to_tensor(np.array(values, np.int32))


@pytest.fixture
def record(module, tmp_path):
    """Records what `program` does with a module of functions: its calls in a folder, and the summary."""

    def run(program, contract=None, functions=None, **limits):
        backend = module(**(functions or {OP: module.right(OP)}))
        out = tmp_path / f"recording{len(list(tmp_path.iterdir()))}"
        with recording(f"planted_ops{f'@{contract}' if contract else ''}", out, **limits) as made:
            program(SimpleNamespace(**vars(sys.modules["planted_ops"])), backend)
        return Recorded(f"recorded:{out}"), made.summary

    return run


def found(recorded, *others):
    runs = replay.check(recorded, recorded.ops, [recorded, *others])
    return [[(finding.oracle, finding.argument) for finding in run.findings] for run in runs]


def test_the_calls_of_every_op_are_the_cases_that_were_called(module, record):
    called = {}

    def program(_, backend):
        for op in schema.ops():
            case = casefile.read(next(p for p in casefile.regressions(op) if takes(backend, p)))
            assert check.run_case(case, backend) == (True, [])
            called[op] = backend.takes(case)

    def takes(backend, path):
        case = casefile.read(path)
        return case.refused is None and backend.takes(case) is not None

    recorded, summary = record(program, functions={op: module.right(op) for op in schema.ops()})
    assert summary.faults == []
    assert summary.unfit == {}
    assert summary.kept == dict.fromkeys(schema.ops(), 1)
    for path in recorded.cases():
        case = casefile.read(path)
        kept, given = (c.signature.complete(c.inputs) for c in (case, called[case.op]))
        for name, value in given.items():
            same = kept[name] == value if not isinstance(value, np.ndarray) else kept[name].tobytes() == value.tobytes()
            assert same or name in ("out",), (case.op, name)  # `out`: what a call allocates holds nothing before it
    assert found(recorded) == [[]]


def decode(op, *this, value=4):
    lengths = ints(*this)
    op(lengths, ints(*[0] * len(this)), ints(*[1] * len(this)), len(this), value)
    return lengths


def test_calls_are_kept_by_shape_attribute_and_branch(record):
    def program(ops, _):
        op = getattr(ops, OP)
        decode(op, 1, 2)
        decode(op, 1, 2)  # of the same content
        decode(op, 2, 1)  # of the same branches
        decode(op, 1, 2, 3)
        decode(op, 1, 2, value=5)
        op(ints(1, 2), ints(7, 0), ints(0, 1), 2, 4)  # a prompt

    recorded, summary = record(program)
    assert summary.seen == {OP: 6}
    assert summary.kept == {OP: 4}
    assert summary.dropped == {OP: {"of the same content": 1, "of the same shapes, attributes and branches": 1}}
    assert [casefile.read(path).inputs["seq_lens_encoder"].tolist() for path in recorded.cases()] == [
        [0, 0],
        [0, 0, 0],
        [0, 0],
        [7, 0],
    ]
    assert found(recorded) == [[]]


def test_a_call_that_departs_is_kept_though_an_alike_one_is(module, record):
    def spoil(tensors, returned):
        if tensors["seq_lens_decoder"][0] == 9:
            tensors["seq_lens_this_time"][1] = 77

    def program(ops, _):
        for length in range(1, 12):
            getattr(ops, OP)(ints(1, 2), ints(0, 0), ints(length, 1), 2, 4)

    recorded, summary = record(program, functions={OP: module.changed(OP, spoil)})
    assert summary.kept == {OP: 2}
    (finding,) = [f for run in replay.check(recorded, [OP], [recorded]) for f in run.findings]
    assert (finding.oracle, finding.element, finding.expected, finding.got) == (
        "values",
        "seq_lens_this_time[1]",
        "4",
        "77",
    )
    assert check.run_case(casefile.read(finding.saved), backends.get(f"recorded:{recorded.folder}"))[1]


PLANTED = {
    "a wrong value": (OP, lambda t, r: t["seq_lens_this_time"].add_(ints(1)), {("values", "seq_lens_this_time")}),
    "an input changed": (OP, lambda t, r: t["seq_lens_decoder"].add_(ints(1)), {("inputs", "seq_lens_decoder")}),
    "a buffer that moves": (
        OP,
        lambda t, r: t["seq_lens_this_time"].copy_(paddle.zeros([1000], "int32"), False),
        {("address", None), ("address", "seq_lens_this_time")},
    ),
    "nothing returned": (NEW, lambda t, r: None, {("launch", None)}),
    "another dtype": (NEW, lambda t, r: r.astype("int64"), {("launch", None)}),
    "a wrong new tensor": (NEW, lambda t, r: r + 1, {("values", "seq_lens_output")}),
    "nothing wrong": (NEW, lambda t, r: r, set()),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_faults_of_recorded_calls_are_found(module, record, fault):
    op, change, kinds = PLANTED[fault]

    def program(ops, _):
        if op == OP:
            decode(getattr(ops, op), 1, 2)
        else:
            getattr(ops, op)(ints(3, 1), ints(0, 0), ints(1, 1))

    recorded, summary = record(program, functions={op: module.changed(op, change)})
    assert summary.kept == {op: 1}
    (kept,) = found(recorded)
    assert set(kept) == kinds


def test_limits_leave_room_for_a_call_that_departs(module, record):
    def program(ops, _):
        for value in range(10):
            decode(getattr(ops, OP), 1, 2, value=value)

    def spoil(tensors, returned):
        if tensors["value"] == 8:
            tensors["seq_lens_this_time"][1] = 77

    recorded, summary = record(program, functions={OP: module.changed(OP, spoil)}, max_calls=2)
    assert summary.kept == {OP: 2}
    assert found(recorded) == [[("values", "seq_lens_this_time")]]


def test_limits_leave_room_for_new_branches(record):
    def program(ops, _):
        op = getattr(ops, OP)
        for value in range(10):
            decode(op, 1, 2, value=value)
        op(ints(1, 2), ints(7, 0), ints(0, 1), 2, 4)

    recorded, summary = record(program, max_calls=3)
    assert summary.dropped == {OP: {"above --max-calls": 7, "that gave way to others that show more": 1}}
    kept = [casefile.read(path) for path in recorded.cases()]
    assert [case.inputs["seq_lens_encoder"].tolist() for case in kept] == [[0, 0], [0, 0], [7, 0]]
    assert len(list(recorded.folder.glob("*/*"))) == 6  # nothing is left of the one that gave way
    recorded, summary = record(program, max_bytes=60)
    assert summary.kept == {OP: 1}
    assert summary.dropped[OP]["above --max-bytes"] == 10


def test_a_full_spool_is_sorted_or_drops(tmp_path):
    spool, array = Spool(tmp_path, 100), {"before/x": np.zeros(12, np.int32)}
    assert [spool.put("op", array, {}) for _ in range(3)] == [True, False, False]
    big = {"before/x": np.zeros(99, np.int32)}
    assert not spool.put("op", big, {})
    spool.tell()
    (told,) = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert told["dropped"] == {"op": {"waiting calls took all the room": 2, "larger than --max-bytes": 1}}
    sorting = Spool(tmp_path, 100, lambda: [path.unlink() for path in tmp_path.glob("*.npz")])
    assert all(sorting.put("op", array, {}) for _ in range(3))


def test_a_forked_child_has_files_of_its_own(tmp_path):
    spool = Spool(tmp_path, 1000)
    spool.seen("parent")
    if (child := os.fork()) == 0:
        try:
            spool.seen("child")
            spool.put("child", {}, {})
        finally:
            os._exit(0)  # as workers end: nothing is run at exit
    os.waitpid(child, 0)
    spool.tell()
    assert [json.loads(path.read_text())["seen"] for path in sorted(tmp_path.glob("*.json"), key=os.path.getmtime)] == [
        {"child": 1},
        {"parent": 1},
    ]


def test_a_call_goes_through_as_it_is(module, tmp_path):
    seen, error = [], KeyError("mine")

    def raw(*args, **keywords):
        seen.append((args, keywords))
        if len(args) == 3:
            raise error
        return seen

    module(**{OP: raw})
    made = sys.modules["planted_ops"]
    with recording("planted_ops", tmp_path / "out") as recorded:
        assert getattr(made, OP) is not raw
        assert getattr(made, OP).__wrapped__ is raw
        args, value = (ints(1), ints(0), ints(1), 1), object()
        assert getattr(made, OP)(*args, value=value) is seen
        with pytest.raises(KeyError) as raised:
            getattr(made, OP)(*args[:3])
        kept = getattr(made, OP)
    assert raised.value is error
    (first, keywords), (second, _) = seen
    assert all(a is b for a, b in zip(first, args, strict=True))
    assert all(a is b for a, b in zip(second, args, strict=False))
    assert keywords["value"] is value
    assert getattr(made, OP) is raw
    assert kept(*args) is seen
    assert recorded.summary.seen == {OP: 2}


def test_names_that_were_imported_before_are_recorded_too_and_are_themselves_again(module, tmp_path):
    module(**{OP: module.right(OP)})
    user = sys.modules[__name__]
    user.borrowed = before = getattr(sys.modules["planted_ops"], OP)
    with recording("planted_ops", tmp_path / "out") as made:
        decode(user.borrowed, 1)
    assert made.summary.seen == {OP: 1}
    assert user.borrowed is before


def test_a_recorder_that_fails_is_told_and_changes_nothing(record, monkeypatch):
    def fail(tensor):
        raise RuntimeError("no such memory")

    def program(ops, _):
        monkeypatch.setattr(Snapshot, "of", fail)
        assert decode(getattr(ops, OP), 1, 2).tolist() == [4, 4]

    _, summary = record(program)
    assert summary.kept == {}
    assert len(summary.faults) == 1
    assert f"{OP}: RuntimeError: no such memory" in str(summary)


def test_nothing_is_read_while_a_graph_is_captured_or_a_program_is_built(record, monkeypatch):
    def program(ops, _):
        with monkeypatch.context() as capture:
            capture.setattr(paddle.base.core, "is_cuda_graph_capturing", lambda: True)
            decode(getattr(ops, OP), 1, 2)
        decode(getattr(ops, OP), 1, 2)
        with monkeypatch.context() as static:
            static.setattr(paddle, "in_dynamic_mode", lambda: False)
            decode(getattr(ops, OP), 1, 2)

    _, summary = record(program)
    assert summary.kept == {OP: 1}
    assert set(summary.dropped[OP]) == {
        "while a graph was captured",
        "while a program was built, whose tensors hold nothing",
    }


def test_inputs_outside_the_contract_are_a_finding_where_the_op_takes_them(module, record):
    def lax(lengths, encoder, decoder, real_bsz, value):
        if value < 0:
            raise ValueError("no length")

    def program(ops, _):
        getattr(ops, OP)(ints(1, 2), ints(0, -3), ints(1, 1), 2, 4)
        with pytest.raises(ValueError, match="no length"):
            getattr(ops, OP)(ints(1, 2), ints(0, 0), ints(1, 1), 2, -1)

    recorded, summary = record(program, functions={OP: lax_named(lax)})
    assert summary.kept == {OP: 2}
    emulator = backends.get("cuda-emu")
    runs = replay.check(recorded, [OP], [recorded, emulator])
    ((finding,), ()) = [run.findings for run in runs]
    assert finding.oracle == "launch"
    assert "outside the op's contract, and the op took it" in finding.message
    assert "seq_lens_encoder[1] is -3" in finding.message
    assert [run.executed for run in runs] == [2, 2]  # hostile on the emulator


def lax_named(function):
    """The function with FastDeploy's parameters."""

    def op(seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, real_bsz, value):
        return function(seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, real_bsz, value)

    return op


def test_calls_that_no_case_can_say_are_findings(module, record):
    def program(ops, _):
        op = getattr(ops, OP)
        decode(op, 1, 2)
        op(ints(1, 2).astype("int64"), ints(0, 0), ints(1, 1), 2, 4)
        op([1, 2], ints(0, 0), ints(1, 1), 2, 4)
        getattr(ops, NEW)(1)

    functions = {OP: lax_named(lambda *_: None), NEW: lambda other: other}
    recorded, summary = record(program, functions=functions)
    assert summary.kept == {OP: 1}
    runs = replay.check(recorded, recorded.ops, [recorded])
    messages = {f.message.partition(": ")[2].partition("\n")[0] for f in runs[0].findings if f.oracle == "launch"}
    assert messages == {
        f"{NEW} takes other arguments than FastDeploy's call of {NEW}: it takes 1, the call has 3",
        "seq_lens_this_time: list, expected a tensor",
        f"{OP}: seq_lens_this_time: dtype int64, expected int32",
    }


def test_what_the_op_draws_itself_cannot_be_compared(module, record):
    op = "verify_draft_tokens"
    case = casefile.read(next(p for p in casefile.regressions(op) if "uniforms:" in p.read_text()))
    right = module.right(op)

    def draw(*given):
        return None

    draw.__signature__ = right.__signature__

    def program(_, backend):
        backend.call(case.signature, arguments(case, 0), Variant())

    _, summary = record(program, functions={op: draw})
    assert summary.dropped == {op: {"which hang on uniforms, which the op makes itself": 1}}
    assert summary.kept == {}


def test_the_contract_of_the_recording_holds_when_it_is_checked(module, record, tmp_path):
    op = "speculate_get_seq_lens_output"
    path = tmp_path / "contract.yaml"

    def say(difference):
        path.write_text(f"module: planted_ops\ndifferences:\n  - {{op: {op}, {difference}, reason: known}}\n")

    say("left_out: true")

    def program(ops, _):
        getattr(ops, op)(ints(3, 1), ints(0, 0), ints(1, 1))

    functions = {op: module.changed(op, lambda tensors, returned: returned + 1)}
    recorded, summary = record(program, contract=path, functions=functions)
    assert summary.dropped == {op: {"which the contract leaves out": 1}}
    say("up_to: {seq_lens_output: seq_lens_this_time}")
    recorded, summary = record(lambda ops, _: getattr(ops, op)(ints(3, 0), ints(0, 0), ints(1, 1)), path, functions)
    path.unlink()  # a copy is kept
    assert summary.kept == {op: 1}
    assert found(Recorded(f"recorded:{recorded.folder}")) == [[]]


def test_the_loader_of_a_watched_module_is_itself_again(tmp_path, monkeypatch):
    (tmp_path / "watched_ops.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    seen = []
    Watch("watched_ops", lambda module: seen.append((module.__name__, module.x))).start()
    import watched_ops

    assert seen == [("watched_ops", 1)]
    assert "exec_module" not in vars(watched_ops.__spec__.loader)
    del sys.modules["watched_ops"]


def test_a_recording_that_cannot_be_made_says_why(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(Unrecordable, match="is not an empty folder"), recording("planted_ops", tmp_path / "full"):
        pass
    with pytest.raises(schema.UnknownOp), recording("planted_ops", tmp_path / "out", ops=["nonsense"]):
        pass
    with pytest.raises(ModuleNotFoundError), recording("no_such_ops", tmp_path / "out"):
        pass
    assert not (tmp_path / "out").exists()
