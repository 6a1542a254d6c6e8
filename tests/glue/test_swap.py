"""Swaps of two slots: the right one, and what has gone wrong in such code."""

import numpy as np
import paddle
import pytest

from opgold.harness.glue.snapshot import Held
from opgold.harness.glue.swap import check_swap, distinguish
from opgold.reference.glue.groups import PROPOSER, TARGET, Groups, Side
from opgold.reference.glue.packing import PACKINGS, repack
from opgold.reference.glue.slots import swap_states

PADDLE = (False, True)


def said(departures):
    return [str(departure) for departure in departures]


def slots(*values, dtype="int32"):
    return np.array(values, dtype)


class Batch:
    """Four slots, of which the first three run; FastDeploy's names. `tensors`: of Paddle, else arrays."""

    def __init__(self, tensors=True):
        make = paddle.to_tensor if tensors else np.array
        lengths = slots(2, 3, 1, 0)
        self.seq_lens_this_time_buffer = make(lengths)
        self.seq_lens_this_time = self.seq_lens_this_time_buffer[:3]
        self.seq_lens_encoder = make(slots(0, 3, 0, 0))
        self.temperature = make(slots(0.5, 0.25, 1, 2, dtype="float32").reshape(4, 1))
        self.max_reply_lens = make(slots(5, 7, 9, -1).reshape(4, 1))
        self.stop_flags = make(slots(False, True, False, True, dtype=bool).reshape(4, 1))
        self.token_ids_all = make(np.arange(20, dtype="int64").reshape(4, 5))
        self.req_ids = ["a", "b", "c", None]
        self.index_to_batch_id = {0: 7, 1: 3, 2: 4}
        self.cu_seqlens_q = make(slots(0, 2, 5, 6, 6))
        self.batch_id_per_token = make(slots(0, 0, 1, 1, 1, 2, -1, -1).reshape(8, 1))
        self.cu_seqlens_q_output = make(slots(0, 2, 3, 4, 4).reshape(5, 1))
        self.batch_id_per_token_output = make(slots(0, 0, 1, 2, -1, -1, -1, -1))
        self.draft_logits = make(np.arange(8, dtype="float32").reshape(8, 1))
        self.seq_lens_decoder_cpu = make(slots(4, 5, 6))
        self.step_block_list, self.step_lens = make(slots(-1, -1, -1, -1)), make(slots(0))
        self.eos_token_id = make(slots(1, dtype="int64").reshape(1, 1))

    def rows(self):
        return [name for name in vars(self) if name in TARGET.carried and name != "req_ids"]


def swap_rows(array, first, second):
    if isinstance(array, np.ndarray):
        array[[first, second]] = array[[second, first]]
    else:
        kept = array[first].clone()
        array[first] = array[second]
        array[second] = kept


def swap(batch, first, second, *, without=()):
    """A right swap, but for some names."""
    for name in batch.rows():
        if name not in without:
            swap_rows(getattr(batch, name), first, second)
    if "req_ids" not in without:
        batch.req_ids[first], batch.req_ids[second] = batch.req_ids[second], batch.req_ids[first]
    slot_map = batch.index_to_batch_id
    found = {first: slot_map.pop(second, None), second: slot_map.pop(first, None)}
    slot_map.update({slot: request for slot, request in found.items() if request is not None})


def checked(batch, change, first=0, second=1, **keywords):
    held = Held(batch, TARGET)
    if first != second:
        distinguish(held, first, second)
    return said(check_swap(change, first, second, held, **keywords))


@pytest.mark.parametrize("tensors", PADDLE)
@pytest.mark.parametrize("pair", [(0, 1), (2, 0), (1, 3)])
def test_a_right_swap_is_silent(tensors, pair):
    batch = Batch(tensors)
    assert checked(batch, lambda i, j: swap(batch, i, j), *pair) == []
    assert checked(batch, lambda i, j: swap(batch, i, j), *pair) == []  # and back


@pytest.mark.parametrize("tensors", PADDLE)
def test_a_swap_of_a_slot_with_itself(tensors):
    batch = Batch(tensors)
    assert checked(batch, lambda i, j: None, 1, 1) == []


@pytest.mark.parametrize("tensors", PADDLE)
@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("max_reply_lens", "max_reply_lens[0, 0]: 5, expected 7, slots 0 and 1 change places"),
        ("req_ids", "req_ids[0]: 'a', expected 'b', slots 0 and 1 change places"),
        ("stop_flags", "stop_flags[0, 0]: False, expected True, slots 0 and 1 change places"),
        ("token_ids_all", "token_ids_all[0, 0]: 0, expected 5, slots 0 and 1 change places"),
    ],
)
def test_what_is_forgotten(tensors, name, report):
    batch = Batch(tensors)
    (found,) = checked(batch, lambda i, j: swap(batch, i, j, without={name}))
    assert found.startswith(report)


@pytest.mark.parametrize("tensors", PADDLE)
def test_elements_of_prefix_sums_that_are_swapped(tensors):
    """The smallest pair: lengths 2 and 3, sums [2, 0, 5], slots of tokens left behind."""
    make = paddle.to_tensor if tensors else np.array
    batch = {
        "seq_lens_this_time": make(slots(2, 3)),
        "cu_seqlens_q": make(slots(0, 2, 5)),
        "batch_id_per_token": make(slots(0, 0, 1, 1, 1)),
    }
    groups = Groups(frozenset({"seq_lens_this_time"}), frozenset({"cu_seqlens_q", "batch_id_per_token"}))

    def planted(i, j):
        swap_rows(batch["seq_lens_this_time"], i, j)
        swap_rows(batch["cu_seqlens_q"], i, j)

    why = "from the lengths after slots 0 and 1 change places"
    assert said(check_swap(planted, 0, 1, Held(batch, groups), packings=PACKINGS[:1])) == [
        f"cu_seqlens_q[0]: 2, expected 0, {why} (2 elements differ); [2, 0, 5], expected [0, 3, 5]",
        f"batch_id_per_token[2]: 1, expected 0, {why}",
    ]


def test_a_pair_of_which_half_is_swapped():
    batch = Batch()

    def planted(i, j):
        swap(batch, i, j)
        swap_rows(batch.cu_seqlens_q_output, i, j)

    found = checked(batch, planted)
    assert found[0].startswith("cu_seqlens_q_output[0, 0]: 2, expected 0, as before the swap")
    assert len(found) == 1


def test_a_pair_that_is_made_again():
    batch = Batch(tensors=False)

    def right(i, j):
        swap(batch, i, j)
        repack(vars(batch))

    assert checked(batch, right, packings=PACKINGS) == []
    half = checked(Batch(tensors=False), lambda i, j: None, packings=PACKINGS)
    assert any(line.startswith("batch_id_per_token[2, 0]: 1, expected 0") for line in half)


def test_packed_logits_swapped_by_slot():
    batch = Batch()

    def planted(i, j):
        swap(batch, i, j)
        swap_rows(batch.draft_logits, i, j)

    (found,) = checked(batch, planted)
    assert found.startswith("draft_logits[0, 0]: 1.0, expected 0.0, as before the swap")
    assert checked(Batch(), lambda i, j: None, invalid={"draft_logits"})  # other rows are looked at all the same
    batch = Batch()
    assert checked(batch, planted, invalid={"draft_logits"}) == []


def test_a_flat_array_swapped_by_slot():
    batch = {"rows": np.arange(4), "flat": np.arange(8)}
    held = Held(batch, Groups(frozenset({"rows"}), frozenset({"flat"})))

    def planted(i, j):
        swap_rows(batch["rows"], i, j)
        swap_rows(batch["flat"], i, j)

    (found,) = said(check_swap(planted, 0, 1, held))
    assert found.endswith("[1, 0, 2, 3, 4, 5, 6, 7], expected [0, 1, 2, 3, 4, 5, 6, 7]")


def test_a_swap_without_a_copy_of_the_row():
    """`k = x[i]` is a view: [1, 2, 3] becomes [3, 2, 3]."""
    batch = {"rows": paddle.to_tensor(slots(1, 2, 3))}

    def planted(i, j):
        rows = batch["rows"]
        kept = rows[i]
        rows[i] = rows[j]
        rows[j] = kept

    (found,) = said(check_swap(planted, 0, 2, Held(batch, Groups(frozenset({"rows"})))))
    assert found == "rows[2]: 3, expected 1, slots 0 and 2 change places"


def test_a_swap_that_rebinds():
    batch = Batch()

    def planted(i, j):
        swap(batch, i, j)
        batch.temperature = batch.temperature.clone()

    assert checked(batch, planted) == ["temperature: the name stands for another object"]


def test_a_swap_that_replaces_the_memory():
    batch = Batch()

    def planted(i, j):
        swap(batch, i, j)
        kept = batch.temperature.clone()
        batch.temperature.copy_(paddle.zeros([9, 1]), False)
        batch.temperature.copy_(kept, False)

    assert checked(batch, planted) == ["temperature: its memory was replaced"]


def test_a_swap_that_touches_another_row():
    batch = Batch()

    def planted(i, j):
        swap(batch, i, j)
        batch.temperature[3] = 0

    assert checked(batch, planted) == ["temperature[3, 0]: 0.0, expected 2.0, slots 0 and 1 change places"]


def test_a_map_that_is_left():
    batch = Batch()

    def planted(i, j):
        swap(batch, i, j)
        swap(Batch(), i, j)
        batch.index_to_batch_id.update({0: 7, 1: 3})

    (found,) = checked(batch, planted)
    assert found == "index_to_batch_id: {0: 7, 1: 3, 2: 4}, expected {0: 3, 1: 7, 2: 4}"


def test_an_attribute_that_is_not_there():
    batch = Batch()

    def planted(i, j):
        swap(batch, i, j)
        batch.share_inputs["decode_states"]

    found = checked(batch, planted)
    assert found[0].startswith("swap(0, 1): raises AttributeError")


def test_a_mirror_that_shrank_stops_a_swap_half_way():
    """Slot 3 is newer than the last step, to whose three rows `copy_` has shrunk the mirror."""
    batch = Batch()

    def planted(i, j):
        for name in ("temperature", "seq_lens_decoder_cpu", "stop_flags"):
            swap_rows(getattr(batch, name), i, j)

    found = checked(batch, planted, 1, 3)
    assert found[0].startswith("swap(1, 3): raises IndexError")
    assert found[1].startswith("temperature[1, 0]: 2.0, expected 0.25, as before the swap that raised")


@pytest.mark.parametrize("tensors", PADDLE)
def test_mirrors_may_be_swapped_or_left(tensors):
    batch = Batch(tensors)

    def right(i, j):
        swap(batch, i, j)
        swap_rows(batch.seq_lens_decoder_cpu, i, j)

    assert checked(batch, right) == []

    def planted(i, j):
        swap(batch, i, j)
        batch.seq_lens_decoder_cpu[i] = 0

    assert checked(batch, planted)[0].startswith("seq_lens_decoder_cpu[0]: 0, expected")


@pytest.mark.parametrize("tensors", PADDLE)
@pytest.mark.parametrize("pair", [(0, 4), (-1, 0)])
def test_a_slot_that_is_not_there_must_be_refused_first(tensors, pair):
    batch = Batch(tensors)

    def right(i, j):
        if not (0 <= i < 4 and 0 <= j < 4):
            raise IndexError(i, j)

    assert checked(batch, right, *pair) == []
    assert checked(batch, lambda i, j: None, *pair)[0].startswith(f"swap({pair[0]}, {pair[1]}): raises nothing")

    def half_way(i, j):
        batch.temperature[0] = 9
        raise IndexError

    (found,) = checked(batch, half_way, *pair)
    assert found.startswith("temperature[0, 0]: 9.0, expected 0.5, as before the swap that raised")


def test_positions_of_slot_numbers_are_not_swapped():
    """Slot 1 stands in the list: to swap the list's positions says nothing of it."""
    batch = Batch()
    batch.step_block_list[0], batch.step_lens[0] = 1, 1

    def planted(i, j):
        swap(batch, i, j)
        swap_rows(batch.step_block_list, i, j)

    found = checked(batch, planted)
    assert found[0] == (
        "swap(0, 1): raises nothing, expected an error: step_block_list: holds 1 slot numbers, expected none at a swap"
    )
    assert any(line.startswith("step_block_list[0]: -1, expected 1") for line in found)


def proposer_of(target):
    return {
        "top_p": target["top_p"],
        "decode_states": paddle.to_tensor(np.arange(8, dtype="int32").reshape(4, 2)),
        "batch_drop": paddle.to_tensor(slots(True, False, True, False, dtype=bool)),
    }


def test_aliases_of_the_proposer_are_swapped_once():
    target = {"top_p": paddle.to_tensor(slots(0.1, 0.2, 0.3, 0.4, dtype="float32"))}
    proposer = proposer_of(target)
    sides = Held(target, TARGET), Held(proposer, PROPOSER, "proposer.")

    def right(i, j):
        for array in (target["top_p"], proposer["decode_states"], proposer["batch_drop"]):
            swap_rows(array, i, j)

    def twice(i, j):
        right(i, j)
        swap_rows(proposer["top_p"], i, j)

    def forgetful(i, j):
        swap_rows(target["top_p"], i, j)

    assert check_swap(right, 0, 1, *sides) == []
    assert [line.split(":")[0] for line in said(check_swap(twice, 0, 1, *sides))] == ["top_p[0]", "proposer.top_p[0]"]
    assert [line.split(":")[0] for line in said(check_swap(forgetful, 0, 1, *sides))] == [
        "proposer.decode_states[0, 0]",
        "proposer.batch_drop[0]",
    ]


@pytest.mark.parametrize("tensors", PADDLE)
def test_rows_that_hold_the_same_show_nothing(tensors):
    batch = Batch(tensors)
    batch.temperature[:] = 1
    batch.stop_flags[:] = True
    batch.req_ids[0] = "b"
    held = Held(batch, TARGET)
    with pytest.raises(ValueError, match="req_ids, stop_flags, temperature: slots 0 and 1 hold the same"):
        check_swap(lambda i, j: None, 0, 1, held)
    distinguish(held, 0, 1)
    assert checked(batch, lambda i, j: swap(batch, i, j)) == []
    assert any(
        line.startswith("stop_flags") for line in checked(batch, lambda i, j: swap(batch, i, j, without={"stop_flags"}))
    )


def test_the_golden_swap_moves_views_with_their_array():
    batch = vars(Batch(tensors=False))
    swap_states(0, 1, Side(batch, TARGET))
    assert batch["seq_lens_this_time"].tolist() == [3, 2, 1]
    assert batch["index_to_batch_id"] == {0: 3, 1: 7, 2: 4}
    repack(batch)
    assert batch["cu_seqlens_q"].tolist() == [0, 3, 5, 6, 6]
    assert batch["batch_id_per_token"].ravel().tolist() == [0, 0, 0, 1, 1, 2, -1, -1]
    assert batch["cu_seqlens_q_output"].ravel().tolist() == [0, 1, 3, 4, 4]
    assert batch["batch_id_per_token_output"].tolist() == [0, 1, 1, 2, -1, -1, -1, -1]
