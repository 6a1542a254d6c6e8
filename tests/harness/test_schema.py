"""The signature is the schema: what it declares, and how inputs that do not fit are refused."""

import ml_dtypes
import numpy as np
import pytest
from jaxtyping import Int32

from opgold.reference import schema
from opgold.reference.schema import Hidden, In, Out


def pick(
    rows: In[Hidden[np.ndarray, "tokens width"]],
    index: In[Int32[np.ndarray, "bsz"]],
    sums: In[Int32[np.ndarray, "bsz+1"]] | None = None,
    *,
    limit: int,
    out: Out[Hidden[np.ndarray, "bsz width"]],
    pairs: Out[Int32[np.ndarray, "2*limit"]],
) -> None:
    """Pick rows."""


PICK = schema.signature(pick)


def inputs(**changes):
    return {"rows": np.zeros((4, 3), np.float16), "index": np.zeros(2, np.int32), "limit": 5} | changes


def test_arguments_in_order_with_direction_and_shape():
    assert [(a.name, a.direction.value, a.optional) for a in PICK.arguments] == [
        ("rows", "in", False),
        ("index", "in", False),
        ("sums", "in", True),
        ("out", "out", False),
        ("pairs", "out", False),
    ]
    assert PICK.argument("sums").dims == ("bsz+1",)
    assert [a.name for a in PICK.attributes] == ["limit"]


def test_symbols_bind_and_outputs_follow():
    symbols = PICK.bind(inputs())
    assert PICK.shapes(symbols) == {"out": (2, 3), "pairs": (10,)}
    assert PICK.dtype(PICK.argument("out"), inputs()) == np.float16
    brain = inputs(rows=np.zeros((4, 3), ml_dtypes.bfloat16))
    assert PICK.dtype(PICK.argument("out"), brain).name == "bfloat16"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"index": np.zeros(2, np.int64)}, "pick: index: dtype int64, expected int32"),
        ({"index": np.zeros((2, 1), np.int32)}, "pick: index: shape (2, 1), expected [bsz]"),
        ({"sums": np.zeros(2, np.int32)}, "pick: sums: shape (2,), expected [bsz+1]: dimension 0 is 2, expected 3"),
        ({"rows": np.zeros((4, 3), np.float64)}, "rows: dtype float64, expected float32 or float16 or bfloat16"),
        ({"rows": None}, "pick: rows: input is required"),
        ({"limit": "5"}, "pick: limit: '5' is no int"),
        ({"limit": True}, "pick: limit: True is no int"),
        ({"widht": 3}, "pick: widht: no such input"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_by_name(changes, message):
    with pytest.raises(schema.ContractError) as refusal:
        PICK.bind(inputs(**changes))
    assert message in str(refusal.value)


def test_missing_attribute_and_negative_extent():
    given = inputs()
    del given["limit"]
    with pytest.raises(schema.ContractError, match=r"limit: attribute .int. is required"):
        PICK.bind(given)
    with pytest.raises(schema.ContractError, match=r"pairs: 2\*limit is -2, expected at least 0"):
        PICK.shapes(PICK.bind(inputs(limit=-1)))


def test_a_size_that_is_not_free_is_refused():
    with pytest.raises(schema.ContractError, match="sizes: width is not a free size"):
        PICK.bind(inputs(), {"width": 3})


def test_positional_output_is_no_signature():
    def bad(out: Out[Int32[np.ndarray, "n"]]) -> None: ...

    bad.__annotations__ = {"out": Out[Int32[np.ndarray, "n"]]}
    with pytest.raises(TypeError, match="must be keyword-only"):
        schema.signature(bad)


def test_unknown_op_names_near_misses():
    with pytest.raises(schema.UnknownOp, match="did you mean rebuild_padding"):
        schema.load("rebuild_paddings")


@pytest.mark.parametrize("op", schema.ops())
def test_every_op_has_its_four_files(op):
    from opgold.harness import casefile
    from opgold.harness.locate import strategy
    from opgold.kernels import build

    module = strategy(op)
    assert module.RELATIONS
    assert module.LAYOUT
    assert any(build.source_of(op, vendor).exists() for vendor in schema.load(op).vendors)
    assert casefile.regressions(op)
