"""Each way in which a buffer does not stay is planted, and reported as what it is; lawful writes are not."""

import paddle
import pytest

from opgold.harness.stability import Stability, Unstable


class Batch:
    """A buffer of eight sevens, and a name that shares it."""

    def __init__(self):
        self.b = paddle.full([8], 7, "int32")
        self.same = self.b


def filled(batch):
    batch.b[:] = -1
    batch.b.copy_(paddle.ones([5], "int32"), False)


def outgrown(batch):
    batch.b.copy_(paddle.ones([9], "int32"), False)


def outgrown_and_back(batch):
    outgrown(batch)
    batch.b.copy_(paddle.ones([8], "int32"), False)


def shrunk_and_back(batch):
    batch.b.copy_(paddle.ones([3], "int32"), False)
    batch.b.copy_(paddle.ones([8], "int32"), False)


def modulo_in_place(batch):
    batch.b[:] %= 3


def modulo(batch):
    batch.b %= 3


PLANTED = {
    "filled in place": (lambda batch: batch.b.fill_(5), set()),
    "modulo in place": (modulo_in_place, set()),
    "shrunk and back to its size": (shrunk_and_back, set()),
    "modulo that rebinds": (modulo, {"object", "address", "alias"}),
    "its clone": (lambda batch: setattr(batch, "b", batch.b.clone()), {"object", "address", "alias"}),
    "a sum": (lambda batch: setattr(batch, "b", batch.b + 1), {"object", "address", "alias"}),
    "cast there and back": (
        lambda batch: setattr(batch, "b", batch.b.astype("int64").astype("int32")),
        {"object", "address", "alias"},
    ),
    "less is copied": (lambda batch: batch.b.copy_(paddle.ones([3], "int32"), False), {"shape"}),
    "more is copied": (outgrown, {"storage", "address", "shape"}),
    "more is copied, then as much as before": (outgrown_and_back, {"storage", "address"}),
    "nothing is copied": (lambda batch: batch.b.copy_(paddle.ones([0], "int32"), False), {"shape"}),
    "its own first two": (lambda batch: batch.b.copy_(batch.b[:2], False), {"shape"}),
    "a view from its start": (lambda batch: setattr(batch, "b", batch.b[:3]), {"object", "shape", "alias"}),
    "a view from within": (lambda batch: setattr(batch, "b", batch.b[2:]), {"object", "address", "shape", "alias"}),
    "a value of another dtype": (
        lambda batch: paddle.assign(paddle.ones([4], "int64"), batch.b),
        {"dtype", "shape"},
    ),
    "a broadcast": (
        lambda batch: paddle.assign(paddle.where(paddle.ones([8, 1], "bool"), batch.b, batch.b), batch.b),
        {"storage", "address", "shape"},
    ),
}


@pytest.mark.parametrize("change", PLANTED)
def test_planted(change):
    batch = Batch()
    plant, kinds = PLANTED[change]
    steady = Stability(batch, ["b"], aliases=[("b", "same")])
    steady.wrap(plant)(batch)
    assert {report.kind for report in steady.reports} == kinds


def test_an_address_that_comes_back_is_no_excuse():
    """Without the old tensor's memory kept, the second clone would lie where the buffer lay."""
    batch = {"b": paddle.full([8], 7, "int32")}
    steady = Stability(batch, ["b"])

    def rebind():
        batch["b"] = batch.pop("b").clone()

    step = steady.wrap(rebind)
    step()
    step()
    assert {report.kind for report in steady.reports} == {"object", "address"}
    assert [report.call for report in steady.reports] == [1, 1]


def test_lengths_that_may_vary():
    batch = Batch()
    steady = Stability(batch, ["b"], lengths_vary=["b"], tails={"b": -1})
    step = steady.wrap(
        lambda length: filled(batch) if length == 5 else batch.b.copy_(paddle.ones([length], "int32"), False)
    )
    step(5)
    assert steady.reports == []
    step(8)
    assert steady.reports == []
    step(3)  # nothing filled the tail
    (report,) = steady.reports
    assert (report.kind, report.call) == ("tail", 3)
    assert "1 at element 3, expected -1" in report.message


def test_another_rank_is_another_shape_though_lengths_may_vary():
    batch = {"b": paddle.full([8, 1], 7, "int32")}
    steady = Stability(batch, ["b"], lengths_vary=["b"])
    steady.wrap(lambda: batch["b"].copy_(paddle.ones([3], "int32"), False))()
    assert [report.kind for report in steady.reports] == ["shape"]


def test_growing_memory():
    kept, batch = [], Batch()
    steady = Stability(batch, ["b"])
    step = steady.wrap(lambda: kept.append(batch.b.clone()))
    for _ in range(6):
        step()
    (report,) = steady.reports
    assert report.kind == "memory"
    assert "32 bytes a call" in report.message
    with pytest.raises(Unstable, match="memory after call 4"):
        steady.require()


def test_memory_that_is_given_back_does_not_grow():
    batch = Batch()
    steady = Stability(batch, ["b"])
    step = steady.wrap(lambda: batch.b.copy_((batch.b + 1).clone(), False))
    for _ in range(6):
        step()
    steady.require()


def test_a_name_that_is_no_buffer_is_refused():
    with pytest.raises(ValueError, match="'ids' is none of the buffers b"):
        Stability(Batch(), ["b"], tails={"ids": -1})
