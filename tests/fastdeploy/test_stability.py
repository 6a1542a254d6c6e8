"""Each way in which a buffer does not stay is planted, and reported as what it is; lawful writes are not."""

import numpy as np
import paddle
import pytest

from opgold.harness.stability import Stability, Unstable
from opgold.reference.glue.packing import Packing


class Batch:
    """A buffer of eight sevens, and a name that shares it."""

    def __init__(self):
        self.b = paddle.full([8], 7, "int32")
        self.same = self.b


def ones(count):
    return paddle.ones([count], "int32")


def copied(*counts):
    """A plant that copies so many ones into the buffer, one count after the other."""

    def plant(batch):
        for count in counts:
            batch.b.copy_(ones(count), False)

    return plant


def bound(make):
    """A plant that binds the name to what is made of the buffer."""
    return lambda batch: setattr(batch, "b", make(batch.b))


def filled(batch):
    batch.b[:] = -1
    batch.b.copy_(ones(5), False)


def modulo_in_place(batch):
    batch.b[:] %= 3


def modulo(batch):
    batch.b %= 3


def sum_in_place_by_name(batch):
    batch.b += 1


def broadcast(batch):
    paddle.assign(paddle.where(paddle.ones([8, 1], "bool"), batch.b, batch.b), batch.b)


FRESH = {"object": "the name stands for a fresh tensor", "address": None, "alias": "no longer the same tensor as same"}
VIEW = {"object": "the name stands for a view of the buffer", "alias": "no longer the same tensor as same"}

# What each plant reports: by kind the message, None where it holds an address.
PLANTED = {
    "filled in place": (lambda batch: batch.b.fill_(5), {}),
    "modulo in place": (modulo_in_place, {}),
    "shrunk and back to its size": (copied(3, 8), {}),
    "as much as a view holds is copied to it": (lambda batch: batch.b[:4].copy_(ones(4), False), {}),
    "another tensor grows": (lambda batch: paddle.zeros([4], "int32").copy_(ones(9), False), {}),
    "its clone": (bound(lambda b: b.clone()), FRESH),
    "its clone's clone": (bound(lambda b: b.clone().clone()), FRESH),
    "a sum": (bound(lambda b: b + 1), FRESH),
    "a sum that rebinds": (sum_in_place_by_name, FRESH),
    "modulo that rebinds": (modulo, FRESH),
    "cast there and back": (bound(lambda b: b.astype("int64").astype("int32")), FRESH),
    "less is copied": (copied(3), {"shape": "[3], [8] before", "tail": "7 at element 3, expected -1"}),
    "more is copied": (
        copied(9),
        {
            "capacity": "copy_ of 36 bytes, 32 are there",
            "storage": "the memory was replaced: 32 bytes before, 36 now",
            "address": None,
            "shape": "[9], [8] before",
        },
    ),
    "more is copied, then as much as before": (
        copied(9, 8),
        {
            "capacity": "copy_ of 36 bytes, 32 are there",
            "storage": "the memory was replaced: 32 bytes before, 36 now",
            "address": None,
        },
    ),
    "nothing is copied": (copied(0), {"shape": "[0], [8] before", "tail": "7 at element 0, expected -1"}),
    "its own first two": (
        lambda batch: batch.b.copy_(batch.b[:2], False),
        {"shape": "[2], [8] before", "tail": "7 at element 2, expected -1"},
    ),
    "one value into all of it": (
        lambda batch: batch.b[0:8].copy_(ones(1), False),
        {"shape": "[1], [8] before", "tail": "7 at element 1, expected -1"},
    ),
    "a view from its start": (bound(lambda b: b[:3]), VIEW | {"shape": "[3], [8] before"}),
    "a view from within": (bound(lambda b: b[2:]), VIEW | {"address": None, "shape": "[6], [8] before"}),
    "another shape of it": (bound(lambda b: b.reshape([8, 1])), VIEW | {"shape": "[8, 1], [8] before"}),
    "a value of another dtype": (
        lambda batch: paddle.assign(paddle.ones([4], "int64"), batch.b),
        {"dtype": "int64, int32 before", "shape": "[4], [8] before"},
    ),
    "a broadcast": (
        broadcast,
        {
            "storage": "the memory was replaced: 32 bytes before, 256 now",
            "address": None,
            "shape": "[8, 8], [8] before",
        },
    ),
    "more is copied to a view than it holds": (
        lambda batch: batch.b[:2].copy_(ones(4), False),
        {"capacity": "copy_ of 4 elements to a view of 2"},
    ),
}


def reported(steady):
    return {report.kind: None if report.kind == "address" else report.message for report in steady.reports}


@pytest.mark.parametrize("change", PLANTED)
def test_planted(change):
    batch = Batch()
    plant, reports = PLANTED[change]
    declared = {"tails": {"b": -1}} if "tail" in reports else {}
    steady = Stability(batch, ["b"], aliases=[("b", "same")], **declared)
    steady.wrap(plant)(batch)
    assert reported(steady) == reports
    assert {report.call for report in steady.reports} <= {1}


@pytest.mark.parametrize("change", PLANTED)
def test_planted_behind_a_large_a_small_and_an_empty_step(change):
    """The same, but for what the extents before the plant were."""
    batch = Batch()
    plant, reports = PLANTED[change]
    steady = Stability(batch, ["b"], aliases=[("b", "same")], lengths_vary=["b"])
    for count in (8, 2, 0, 8):
        steady.wrap(copied(count))(batch)
    assert steady.reports == []
    steady.wrap(plant)(batch)
    rank = "shape" in reports and reports["shape"].count(",") > 1  # another rank is no other length
    assert set(reported(steady)) == set(reports) - {"tail"} - (set() if rank else {"shape"})
    assert {report.call for report in steady.reports} <= {5}


def test_one_more_than_the_capacity_behind_a_chain():
    batch = Batch()
    steady = Stability(batch, ["b"], lengths_vary=["b"])
    for count in (8, 2, 0, 8, 9):
        steady.wrap(copied(count))(batch)
    assert [(report.kind, report.call) for report in steady.reports] == [
        ("capacity", 5),
        ("storage", 5),
        ("address", 5),
    ]


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


def test_a_clone_that_is_dropped():
    """4 KiB are allocated and given back within the call."""
    batch = {"b": paddle.full([1024], 7, "int32")}
    steady = Stability(batch, ["b"], peak=0)
    steady.wrap(lambda: batch["b"].fill_(1))()
    steady.require()
    for _ in range(5):
        steady.wrap(batch["b"].clone)()
    assert [str(report) for report in steady.reports] == [
        "all: peak after call 2: 4096 bytes more within the call, expected at most 0"
    ]
    allowed = Stability(batch, ["b"], peak=4096)
    allowed.wrap(batch["b"].clone)()
    allowed.require()


@pytest.mark.parametrize(
    ("plant", "index", "value", "message"),
    [
        (lambda b: b[6:8].copy_(ones(4), False), slice(6, 8), 1, "[7, 7] at 6:8, expected 1"),
        (lambda b: b.__setitem__(slice(8, 9), 5), slice(8, 9), [5], "[] at 8:9, expected [5]"),
        (lambda b: b.__setitem__(slice(8, 9), 5), 8, 5, "no element 8 in the extent [8], expected 5"),
        (lambda b: b.flatten().clone().fill_(5), slice(None), 5, "[7, 7, 7, 7, 7, 7, 7, 7] at :, expected 5"),
    ],
)
def test_writes_that_are_lost(plant, index, value, message):
    batch = Batch()
    steady = Stability(batch, ["b"])
    steady.expect_write("b", index, value)
    steady.wrap(plant)(batch.b)
    assert reported(steady)["lost"] == message
    assert set(reported(steady)) <= {"lost", "capacity"}


def test_a_write_past_the_last_steps_view():
    """Insertion writes through the name of the last step's rows: a slot behind them gets nothing."""
    batch = {"lengths": paddle.zeros([4], "int32")}
    batch["now"] = batch["lengths"][:2]
    steady = Stability(batch, ["lengths"])
    steady.expect_write("lengths", 1, 5)
    steady.wrap(lambda: batch["now"].__setitem__(slice(1, 2), 5))()
    steady.require()
    steady.expect_write("lengths", 3, 5)
    steady.wrap(lambda: batch["now"].__setitem__(slice(3, 4), 5))()
    assert [str(report) for report in steady.reports] == ["lengths: lost after call 2: 0 at 3, expected 5"]


def test_a_write_is_expected_once():
    batch = Batch()
    steady = Stability(batch, ["b"])
    steady.expect_write("b", 0, 1)
    step = steady.wrap(batch.b.fill_)
    step(1)
    step(2)
    steady.require()


def test_batch_ids_of_a_larger_step():
    batch = {"ids": paddle.full([8], -1, "int32")}
    steady = Stability(batch, ["ids"], lengths_vary=["ids"], tails={"ids": -1})
    step = steady.wrap(lambda *ids: batch["ids"].copy_(paddle.to_tensor(np.array(ids, np.int32)), False))
    step(0, 0, 0, 1, 1)
    steady.require()
    step(0, 1)
    assert [str(report) for report in steady.reports] == ["ids: tail after call 2: 0 at element 2, expected -1"]


def test_lengths_and_sums_that_are_swapped():
    batch = {"now": paddle.to_tensor(np.array([2, 3], np.int32)), "cu": paddle.to_tensor(np.array([0, 2, 5], np.int32))}
    steady = Stability(batch, ["now", "cu"], packings=[Packing("now", "cu")])

    def swap(name):
        first = batch[name][0].clone()
        batch[name][0] = batch[name][1]
        batch[name][1] = first

    steady.wrap(lambda: None)()
    steady.require()
    steady.wrap(lambda: [swap(name) for name in batch])()
    assert [str(report) for report in steady.reports] == [
        "cu[0]: pair after call 2: 2, expected 0, from now (2 elements differ); [2, 0, 5], expected [0, 3, 5]"
    ]


def test_aliases_and_tensors_that_are_not_to_be():
    batch = {"infer_seed": paddle.to_tensor([1, 2]), "last": paddle.to_tensor([0, 0])}
    batch["proposer's infer_seed"] = batch["infer_seed"]
    steady = Stability(
        batch,
        ["last"],
        aliases=[("infer_seed", "proposer's infer_seed")],
        distinct=[("last", "infer_seed")],
    )
    steady.wrap(lambda: batch["infer_seed"].__setitem__(slice(None), batch["infer_seed"] + 4))()
    steady.require()
    steady.wrap(lambda: batch.update(infer_seed=batch["infer_seed"] + 4))()
    assert [str(report) for report in steady.reports] == [
        "infer_seed: alias after call 2: no longer the same tensor as proposer's infer_seed"
    ]
    steady.wrap(lambda: batch.update(last=batch["infer_seed"][:1]))()
    assert "last: distinct after call 3: shares its memory with infer_seed" in map(str, steady.reports)


def test_a_replay_reads_what_it_captured():
    batch = Batch()
    steady = Stability(batch, ["b"], lengths_vary=["b"])
    graph = steady.capture("b")
    assert steady.replay(graph) == []
    steady.wrap(copied(5))(batch)  # fewer rows, padded
    assert steady.replay(graph) == []
    small = steady.capture()
    steady.wrap(copied(8))(batch)
    assert [str(report) for report in steady.replay(small)] == [
        "b: replay after call 2: the graph reads [5], the tensor is [8]"
    ]
    with pytest.raises(ValueError, match="'c' is none of the buffers b"):
        steady.capture("c")


@pytest.mark.parametrize("plant", [copied(9), copied(9, 8), bound(lambda b: b.clone()), bound(lambda b: b[2:])])
def test_a_replay_of_what_has_moved(plant):
    batch = Batch()
    steady = Stability(batch, ["b"])
    graph = steady.capture()
    steady.wrap(plant)(batch)
    (report,) = steady.replay(graph)
    assert report.kind == "replay"
    assert "the tensor is at" in report.message


def test_copies_are_seen_within_the_call_alone():
    original, batch = paddle.Tensor.copy_, Batch()
    steady = Stability(batch, ["b"])

    def fails():
        assert paddle.Tensor.copy_ is not original
        raise KeyError

    with pytest.raises(KeyError):
        steady.wrap(fails)()
    assert paddle.Tensor.copy_ is original


@pytest.mark.parametrize("view", [slice(0, 3), slice(2, None)])
def test_a_slice_is_a_fresh_tensor_where_slices_are_copies(view):
    flag, batch = "FLAGS_use_stride_kernel", Batch()
    paddle.set_flags({flag: False})
    try:
        steady = Stability(batch, ["b"])
        steady.wrap(bound(lambda b: b[view]))(batch)
    finally:
        paddle.set_flags({flag: True})
    assert reported(steady)["object"] == "the name stands for a fresh tensor"
    assert set(reported(steady)) == {"object", "address", "shape"}
