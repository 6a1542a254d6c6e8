"""What a graph reads behind a step's rows, and what it hands out: the right glue, and glue that forgets."""

import numpy as np
import paddle
import pytest

from opgold.harness.glue.padding import check_padding, check_replay
from opgold.reference.glue.padded_tail import Step, fill_tails, required_tails

STEP = Step(tokens=3, rows=2, size=8, captured_rows=4, output_tokens=3)
SHAPES = {
    "ids_remove_padding": ([8], "int64"),
    "batch_id_per_token": ([8, 1], "int32"),
    "seq_lens_this_time": ([4], "int32"),
    "seq_lens_encoder": ([4], "int32"),
    "seq_lens_decoder": ([4], "int32"),
    "cu_seqlens_q": ([5], "int32"),
    "cu_seqlens_k": ([5], "int32"),
    "block_tables": ([4, 2], "int32"),
    "attn_mask_offsets": ([16], "int32"),
    "target_hidden_states": ([8, 2], "float32"),
    "slot_mapping": ([8], "int32"),
    "batch_id_per_token_output": ([8], "int32"),
}
AS_PADDLE = {False: lambda array: array, True: paddle.to_tensor}


def said(departures):
    return [str(departure) for departure in departures]


def batch_of(paddle_tensors):
    return {name: AS_PADDLE[paddle_tensors](np.ones(shape, dtype)) for name, (shape, dtype) in SHAPES.items()}


def pad(batch, *, without=()):
    """Right padding, but for some buffers."""
    for name, tail in required_tails(STEP).items():
        if name not in without:
            last = batch[name][tail.start - 1]
            values = {"ids": 2, "hidden": 0, "last": last}
            batch[name][tail.start : tail.stop] = values.get(tail.value, tail.value)


@pytest.mark.parametrize("paddle_tensors", [False, True])
def test_right_padding_is_silent(paddle_tensors):
    batch = batch_of(paddle_tensors)
    assert check_padding(batch, lambda: pad(batch), STEP, vocabulary=10) == []


@pytest.mark.parametrize("paddle_tensors", [False, True])
@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("ids_remove_padding", "ids_remove_padding[3]: -77, expected a token id"),
        ("batch_id_per_token", "batch_id_per_token[3, 0]: 77, expected -1"),
        ("seq_lens_this_time", "seq_lens_this_time[2]: 77, expected 0"),
        ("seq_lens_encoder", "seq_lens_encoder[2]: 77, expected 0"),
        ("seq_lens_decoder", "seq_lens_decoder[2]: 77, expected 0"),
        ("cu_seqlens_q", "cu_seqlens_q[3]: 77, expected 1"),
        ("cu_seqlens_k", "cu_seqlens_k[3]: 77, expected 1"),
        ("block_tables", "block_tables[2, 0]: 77, expected -1"),
        ("attn_mask_offsets", "attn_mask_offsets[6]: 77, expected 0"),
        ("target_hidden_states", "target_hidden_states[3, 0]: nan, expected finite numbers"),
        ("slot_mapping", "slot_mapping[3]: 77, expected -1"),
        ("batch_id_per_token_output", "batch_id_per_token_output[3]: 77, expected -1"),
    ],
)
def test_a_tail_that_is_forgotten(paddle_tensors, name, report):
    batch = batch_of(paddle_tensors)
    assert said(check_padding(batch, lambda: pad(batch, without={name}), STEP)) == [report]


def test_golden_padding_is_right():
    batch = batch_of(False)
    assert check_padding(batch, lambda: fill_tails(batch, STEP), STEP) == []
    with pytest.raises(ValueError, match="slot_mapping: 3 elements, expected the 8 that the graph reads"):
        fill_tails({"slot_mapping": np.zeros(3, np.int32)}, STEP)


def test_a_copy_that_shrinks_the_buffer_leaves_its_memory():
    """The graph reads the memory behind the extent that `copy_` has left."""
    batch = {"batch_id_per_token": paddle.full([8], 1, "int32")}
    ids = paddle.to_tensor(np.array([0, 0, 1], np.int32))

    def planted():
        batch["batch_id_per_token"].copy_(ids, False)

    def right():
        batch["batch_id_per_token"][:] = -1
        planted()

    assert said(check_padding(batch, planted, STEP)) == ["batch_id_per_token[3]: 77, expected -1"]
    batch = {"batch_id_per_token": paddle.full([8], 1, "int32")}
    assert check_padding(batch, right, STEP) == []


def test_a_buffer_that_is_rebound_is_not_what_the_graph_reads():
    batch = {"slot_mapping": paddle.full([8], 1, "int32")}

    def planted():
        batch["slot_mapping"] = paddle.full([8], -1, "int32")

    assert said(check_padding(batch, planted, STEP)) == ["slot_mapping[3]: 77, expected -1"]


def test_ids_past_the_vocabulary_and_hidden_rows_by_another_name():
    batch = {"ids_remove_padding": np.ones(8, np.int64), "rows": np.ones((8, 2), np.float32)}

    def planted():
        batch["ids_remove_padding"][3:] = 10

    assert said(check_padding(batch, planted, STEP, vocabulary=10, hidden="rows")) == [
        "ids_remove_padding[3]: 10, expected a token id",
        "rows[3, 0]: nan, expected finite numbers",
    ]


def test_sums_of_an_older_step():
    """After five rows of two tokens, two rows: the sums behind them stay."""
    step = Step(tokens=4, rows=2, size=10, captured_rows=5)
    sums = np.array([0, 2, 4, 6, 8, 10], np.int32)
    (departure,) = check_padding({"cu_seqlens_q": sums}, lambda: sums.__setitem__(slice(3, 6), [6, 8, 10]), step)
    assert str(departure) == "cu_seqlens_q[3]: 6, expected 4"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tokens": 9}, "tokens: 9, expected 0 to 8"),
        ({"rows": 5}, "rows: 5, expected 0 to 4"),
        ({"output_tokens": 4}, "output_tokens: 4, expected 0 to 3"),
    ],
)
def test_a_step_that_its_graph_does_not_hold(changed, message):
    with pytest.raises(ValueError, match=message):
        Step(**({"tokens": 3, "rows": 2, "size": 8, "captured_rows": 4} | changed))


def test_a_buffer_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match="slot_mapping: 4 elements, expected the 8"):
        check_padding({"slot_mapping": np.zeros(4, np.int32)}, lambda: None, STEP)


class Graph:
    """A toy model captured at 8 tokens: it adds up each slot's ids, over the memory that it captured."""

    def __init__(self, *, fills=True, cuts=True, copies=True):
        self.fills, self.cuts, self.copies = fills, cuts, copies
        self.ids, self.slots = paddle.zeros([8], "int64"), paddle.full([8], -1, "int32")
        self.captured = self.ids.unsqueeze(0), self.slots.unsqueeze(0)
        self.output = paddle.zeros([8], "int64")

    def __call__(self, lengths):
        ids = np.arange(1, sum(lengths) + 1)
        if self.fills:
            self.slots[:] = -1
        self.ids.copy_(paddle.to_tensor(ids), False)
        self.slots.copy_(paddle.to_tensor(np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)), False)
        read_ids, read_slots = (memory[0].numpy() for memory in self.captured)
        self.output[:] = paddle.to_tensor(sums(read_ids, read_slots))
        cut = self.output[: len(ids)] if self.cuts else self.output
        return cut.clone() if self.copies else cut


def sums(ids, slots):
    return np.array([ids[slots == slot].sum() if slot >= 0 else 0 for slot in slots])


def eager(lengths):
    return sums(np.arange(1, sum(lengths) + 1), np.repeat(np.arange(len(lengths)), lengths))


STEPS = ([2, 2, 2, 2], [1, 1], [0], [2, 2, 2, 2], [2, 1])


def test_right_replays_are_silent():
    assert check_replay(Graph(), eager, STEPS, kept=True) == []
    assert check_replay(Graph(copies=False), eager, STEPS) == []


def test_a_stale_tail_changes_the_real_rows():
    assert said(check_replay(Graph(fills=False), eager, STEPS))[0] == ("output of call 2[1]: 9, expected 2")


def test_an_output_that_is_not_cut():
    assert said(check_replay(Graph(cuts=False), eager, STEPS))[0] == (
        "output of call 2: 8 rows, expected 2, the real tokens"
    )


def test_an_output_that_the_next_replay_overwrites():
    found = said(check_replay(Graph(copies=False), eager, STEPS, kept=True))
    assert found[0].startswith("output of call 1[")
    assert "as it was returned" in found[0]
