"""opgold's own Paddle operators: registered right, called as FastDeploy calls them, and watched by the emulator."""

import inspect
import subprocess

import numpy as np
import paddle
import pytest
from paddle import _C_ops

import opgold.paddle
from opgold.harness import backends, casefile, check
from opgold.harness.paddle import functions, operators, registration
from opgold.harness.paddle.form import COLUMNS, form_of
from opgold.harness.paddle.tensors import dtype_name, to_tensor
from opgold.harness.search import search
from opgold.kernels.compilers import MissingCompiler
from opgold.reference import schema
from opgold.reference.schema import evaluate

OP = "speculate_update_seq_lens_this_time"
OPERATORS = {operator.op: operator for operator in registration.operators()}
INT32 = np.int32


@pytest.fixture(scope="module")
def backend():
    found = backends.get("paddle")
    assert found.unavailable() == ""
    return found


def tensor(*values, dtype=INT32):
    return paddle.to_tensor(np.array(values, dtype))


@pytest.mark.parametrize("op", schema.ops())
def test_every_op_is_called_on_its_first_case(backend, op):
    backend.prepare(op)
    ran, found = check.run_case(casefile.read(casefile.regressions(op)[0]), backend)
    assert ran
    assert found == []


@pytest.mark.parametrize("op", ["rebuild_padding", "update_attn_mask_offsets", "eagle_get_hidden_states"])
def test_all_kept_cases_of_some_ops(backend, op):
    for path in casefile.regressions(op):
        assert check.run_case(casefile.read(path), backend)[1] == []


def test_registration_compiles_for_a_paddle_with_cuda(tmp_path):
    try:
        command, suffix = operators.command(cuda=True)
    except MissingCompiler as reason:
        pytest.skip(str(reason))
    unit = tmp_path / f"registration{suffix}"
    unit.write_text(registration.source())
    command += ["-cubin", "-arch=sm_80", str(unit), "-o", str(tmp_path / "registration.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_generated_cases_hostile_ones_too(backend):
    outcome = search("get_padding_offset", backend, 60)
    assert outcome.case is None, outcome.findings
    assert outcome.hostile > 0


def inferred(op, inputs, unknown=False):
    """(shape, dtype) of each new tensor, as Paddle infers it from inputs that hold nothing."""
    operator = OPERATORS[op]
    values = form_of(op).signature.complete(inputs)
    sizes = functions.sizes_of(
        operator, {n: to_tensor(v) if isinstance(v, np.ndarray) else v for n, v in values.items()}
    )
    attributes = [values[name] for name in operator.attributes] + [sizes[name] for name in operator.sizes]
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            given = [placeholder(name, values[name], unknown) for name in operator.inputs]
            made = _C_ops._run_custom_op(operator.name, *given, *attributes)
            made = made if isinstance(made, list | tuple) else [made]
            made = made[len(made) - len(operator.made) :] if operator.made else []
            return [(tuple(value.shape), str(value.dtype).split(".")[-1].split(":")[0].lower()) for value in made]
    finally:
        paddle.disable_static()


def placeholder(name, array, unknown):
    """What stands for an array in a static program; None for an input that is not given."""
    if array is None:
        return None
    return paddle.static.data(name, [None] * array.ndim if unknown else list(array.shape), array.dtype.name)


def expected(op, inputs):
    form = form_of(op)
    symbols = form.signature.bind(inputs)
    shapes = form.signature.shapes(symbols)
    shapes |= {n: tuple(evaluate(dim, symbols) for dim in dims) for n, dims in form.allocated.items()}
    arguments = [form.signature.argument(name) for name in OPERATORS[op].made]
    return [(shapes[a.name], form.signature.dtype(a, inputs).name) for a in arguments]


def emptied(inputs, signature):
    """The same call for no slots and no tokens."""
    fewer = {}
    for argument in signature.inputs:
        array = inputs.get(argument.name)
        if isinstance(array, np.ndarray):
            shape = [
                {"bsz": 0, "bsz+1": 1, "tokens": 0, "rows": 0}.get(dim, extent)
                for dim, extent in zip(argument.dims, array.shape, strict=True)
            ]
            fewer[argument.name] = np.zeros(shape, array.dtype)
    return {**inputs, **fewer}


MAKERS = [op for op in schema.ops() if OPERATORS[op].made]


@pytest.mark.parametrize("op", MAKERS)
def test_shapes_and_dtypes_are_inferred(backend, op):
    case = next(c for c in map(casefile.read, casefile.regressions(op)) if c.refused is None)
    assert inferred(op, case.inputs) == expected(op, case.inputs)
    none = emptied(case.inputs, case.signature)
    assert inferred(op, none) == expected(op, none)


def test_what_is_not_known_stays_unknown(backend):
    case = casefile.read(casefile.regressions("speculate_pre_process")[0])
    shapes = [shape for shape, _ in inferred("speculate_pre_process", case.inputs, unknown=True)]
    tokens = case.inputs["cpu_token_num"]
    assert shapes == [(tokens,), (tokens,), (-1,), (-1,), (-1,), (-1,), (1,)]  # -1 + 1 is not 0


@pytest.mark.parametrize("op", ["draft_model_preprocess", "update_attn_mask_offsets", "rebuild_padding"])
def test_registered_operators_return_what_they_write_in_place(backend, op):
    """As the very tensors that went in: same address, same object's storage."""
    case = next(
        case
        for case in map(casefile.read, casefile.regressions(op))
        if case.refused is None and all(v is not None for v in case.inputs.values())
    )
    operator = OPERATORS[op]
    values = case.signature.complete(case.inputs)
    given = {name: to_tensor(values[name]) for name in operator.inputs if values[name] is not None}
    sizes = functions.sizes_of(operator, {**values, **given})
    backend.prepare(op)
    attributes = [values[name] for name in operator.attributes] + [sizes[name] for name in operator.sizes]
    addresses = {name: value.data_ptr() for name, value in given.items()}
    returned = _C_ops._run_custom_op(operator.name, *[given.get(name) for name in operator.inputs], *attributes)
    returned = returned if isinstance(returned, list | tuple) else [returned]
    written = {a.name for a in case.signature.written}
    in_place = [name for name in operator.inputs if name in written and name in given]
    assert [value.data_ptr() for value in returned[: len(in_place)]] == [addresses[name] for name in in_place]
    assert {name: value.data_ptr() for name, value in given.items()} == addresses


def test_the_call_of_a_fastdeploy_user(backend):
    ids = tensor([11, 12, 13], [21, 22, 23], dtype=np.int64)
    packed = opgold.paddle.get_padding_offset(ids, tensor(2, 1), None, None, None, 4)
    assert [value.tolist() for value in packed] == [[11, 12, 21, 2], [0, 0, 1, -1], [0, 2, 3], [0, 2, 3]]
    drafts = tensor([7, 8], [9, 9], dtype=np.int64)
    seven = opgold.paddle.speculate_pre_process(4, ids, tensor(2, 1), drafts, tensor(0, 1), tensor(5, 0))
    assert len(seven) == 7
    assert seven[0].tolist() == [7, 8, 21, 2]
    assert seven[-1].tolist() == [3]
    count = opgold.paddle.speculate_get_seq_lens_output(tensor(2, 1), tensor(0, 1), tensor(5, 0))
    assert count.tolist() == [2, 1]
    lengths = tensor(7, 7, 7)
    assert opgold.paddle.speculate_update_seq_lens_this_time(lengths, tensor(0, 1, 0), tensor(5, 0, 0), 3, 2) is None
    assert lengths.tolist() == [2, 7, 0]


def test_columns_and_attributes_in_tensors_are_taken(backend):
    lengths = tensor([7], [7], [7])
    address = lengths.data_ptr()
    opgold.paddle.speculate_update_seq_lens_this_time(lengths, tensor(0, 1, 0), tensor(5, 0, 0), tensor(3), 2)
    assert lengths.tolist() == [[2], [7], [0]]
    assert lengths.data_ptr() == address


def test_no_slots(backend):
    none = paddle.zeros([0], "int32")
    opgold.paddle.speculate_update_seq_lens_this_time(none, none, none, 0, 2)
    made = opgold.paddle.get_padding_offset(paddle.zeros([0, 4], "int64"), none, None, None, None, 0)
    assert [value.tolist() for value in made] == [[], [], [0], [0]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seq_lens_encoder": tensor(0, 1, 0, dtype=np.int64)}, "seq_lens_encoder: is int64, expected int32"),
        ({"seq_lens_encoder": tensor(0)}, "seq_lens_encoder: dimension 0 is 1, expected 3"),
        ({"seq_lens_this_time": tensor([1, 2], [3, 4], [5, 6])[:, 0]}, "seq_lens_this_time: is not contiguous"),
        ({"real_bsz": 4}, "real_bsz: is 4, expected 0 to the 3 rows"),
    ],
)
def test_refusals_name_op_and_argument(backend, given, said):
    call = {
        "seq_lens_this_time": tensor(7, 7, 7),
        "seq_lens_encoder": tensor(0, 1, 0),
        "seq_lens_decoder": tensor(5, 0, 0),
        "real_bsz": 3,
        "value": 2,
    }
    with pytest.raises(ValueError, match=OP) as error:
        opgold.paddle.speculate_update_seq_lens_this_time(**{**call, **given})
    assert said in str(error.value)


@pytest.fixture
def spoilt(backend, monkeypatch, tmp_path):
    """The op's operator calls a kernel that writes an element too far."""
    ours, source_of = operators.registered(), operators.build.source_of
    source = tmp_path / f"{OP}.cu"
    text = source_of(OP).read_text()
    right = "if (slot >= real_bsz) return;"
    assert right in text
    source.write_text(text.replace(right, "if (slot > real_bsz) return;"))
    monkeypatch.setattr(operators.build, "source_of", lambda op, target="cuda": source)
    ours._bound.discard(OP)
    ours.bind(OP)
    yield
    monkeypatch.undo()
    ours._bound.discard(OP)
    ours.bind(OP)


def test_a_kernels_fault_is_raised_and_found(spoilt, backend):
    with pytest.raises(
        opgold.paddle.KernelFault, match=r"seq_lens_encoder.*element 3 read.*past the end by set_lengths"
    ):
        opgold.paddle.speculate_update_seq_lens_this_time(tensor(7, 7, 7), tensor(0, 1, 0), tensor(5, 0, 0), 3, 2)
    found = [f for path in casefile.regressions(OP) for f in check.run_case(casefile.read(path), backend)[1]]
    assert "bounds" in {finding.oracle for finding in found}


def test_a_raw_call_does_not_pass_over_a_fault(spoilt):
    with pytest.raises(Exception, match="bounds"):
        _C_ops._run_custom_op(OP, tensor(7, 7, 7), tensor(0, 1, 0), tensor(5, 0, 0), 3, 2)


def test_names():
    assert {"rebuild_padding", "draft_model_update", "draft_model_update_packed"} <= set(dir(opgold.paddle))
    with pytest.raises(AttributeError, match="nonsense"):
        opgold.paddle.nonsense  # noqa: B018
    parameters = inspect.signature(opgold.paddle.build_sampling_params).parameters
    assert list(parameters)[-3:] == ["token_num_output_cpu", "increment_value", "max_infer_seed"]
    assert parameters["max_infer_seed"].default == 2**63 - 2


def test_columns_are_arguments():
    known = {argument.name for op in schema.ops() for argument in schema.load(op).arguments}
    assert known >= COLUMNS


def test_dtypes_have_the_names_of_numpy():
    assert dtype_name(paddle.zeros([1], "bfloat16")) == "bfloat16"
