"""What insertion writes: the contract's table, and writes that are forgotten, lost, or go to another slot."""

import functools

import numpy as np
import paddle
import pytest

from opgold.harness.glue.insertion import check_insertion
from opgold.harness.glue.snapshot import Held
from opgold.reference.glue import insertion
from opgold.reference.glue.groups import PROPOSER, TARGET

PROMPT, OFFSETS = np.arange(100, 106), np.arange(6) + 10


def said(departures):
    return [str(departure) for departure in departures]


def proposer():
    """Three slots as a request that was blocked has left them."""
    batch = {
        "seq_lens_encoder": np.full(3, 9, np.int32),
        "seq_lens_decoder": np.full(3, 9, np.int32),
        "seq_lens_this_time_buffer": np.full(3, 9, np.int32),
        "step_idx": np.full((3, 1), 9, np.int64),
        "mask_rollback": np.full((3, 1), 9, np.int32),
        "recompute_token_num": np.full((3, 1), 9, np.int32),
        "stop_flags": np.ones((3, 1), bool),
        "batch_drop": np.ones((3, 1), bool),
        "is_block_step": np.ones((3, 1), bool),
        "pre_ids": np.full((3, 8), 9, np.int64),
        "input_ids": np.full((3, 8), 9, np.int64),
        "attn_mask_offsets_full": np.full((3, 8), 9, np.int32),
        "attn_mask_offsets_decoder": np.full((3, 1), 9, np.int32),
        "block_tables": np.full((3, 2), 9, np.int32),
    }
    batch["seq_lens_this_time"] = batch["seq_lens_this_time_buffer"][:2]
    return batch


CHUNK = functools.partial(
    insertion.insert_prompt_chunk, prompt=PROMPT, start=2, length=4, outputs=1, model_steps=3, offsets=OFFSETS
)
DECODE = functools.partial(insertion.insert_decode, cached=6, drafts=1, step=1)
GOLDEN = {"chunk": CHUNK, "decode": DECODE, "preempt": insertion.preempt}


def row_of(batch, slot=1):
    return {name: array[slot].ravel().tolist() for name, array in batch.items() if name != "seq_lens_this_time"}


def test_a_chunk_that_ends_its_prompt():
    batch = proposer()
    CHUNK(batch, 1)
    assert row_of(batch) == {
        "seq_lens_encoder": [4],
        "seq_lens_decoder": [2],
        "seq_lens_this_time_buffer": [4],
        "step_idx": [1],
        "mask_rollback": [0],
        "recompute_token_num": [2],
        "stop_flags": [False],
        "batch_drop": [False],
        "is_block_step": [False],
        "pre_ids": [-1] * 8,
        "input_ids": [103, 104, 105, 9, 9, 9, 9, 9],
        "attn_mask_offsets_full": [12, 13, 14, 15, 9, 9, 9, 9],
        "attn_mask_offsets_decoder": [16],
        "block_tables": [9, 9],
    }
    insertion.insert_prompt_chunk(batch, 1, PROMPT, 0, 2, outputs=1)
    assert row_of(batch)["step_idx"] == [0]
    assert row_of(batch)["recompute_token_num"] == [0]


@pytest.mark.parametrize("tensors", [False, True])
@pytest.mark.parametrize("task", GOLDEN)
def test_right_insertions_are_silent(task, tensors):
    batch = proposer()
    if tensors:
        batch = {name: paddle.to_tensor(array) for name, array in batch.items()}
        batch["seq_lens_this_time"] = batch["seq_lens_this_time_buffer"][:2]

    def insert():
        wanted = proposer()
        GOLDEN[task](wanted, 1)
        for name, array in wanted.items():
            if name != "seq_lens_this_time":
                batch[name][1] = array[1] if not tensors else paddle.to_tensor(array[1])

    assert check_insertion(insert, GOLDEN[task], 1, Held(batch, PROPOSER)) == []


@pytest.mark.parametrize(
    ("task", "name", "report"),
    [
        ("chunk", "mask_rollback", "mask_rollback[1, 0]: 9, expected 0, slot 1 is inserted"),
        ("chunk", "recompute_token_num", "recompute_token_num[1, 0]: 9, expected 2, slot 1 is inserted"),
        ("chunk", "is_block_step", "is_block_step[1, 0]: True, expected False, slot 1 is inserted"),
        ("chunk", "attn_mask_offsets_full", "attn_mask_offsets_full[1, 0]: 9, expected 12, slot 1 is inserted"),
        ("decode", "mask_rollback", "mask_rollback[1, 0]: 9, expected 1, slot 1 is inserted"),
        ("decode", "recompute_token_num", "recompute_token_num[1, 0]: 9, expected 0, slot 1 is inserted"),
        ("preempt", "block_tables", "block_tables[1, 0]: 9, expected -1, slot 1 is inserted"),
    ],
)
def test_what_is_left_as_it_was(task, name, report):
    batch = proposer()

    def planted():
        stale = batch[name].copy()
        GOLDEN[task](batch, 1)
        batch[name][:] = stale

    (found,) = said(check_insertion(planted, GOLDEN[task], 1, Held(batch, PROPOSER)))
    assert found.startswith(report)


def test_a_rollback_that_turns_negative():
    """1 - (m - 1), which counted on a preprocess that adds m - 1."""
    batch = proposer()

    def planted(model_steps=3):
        DECODE(batch, 1)
        batch["mask_rollback"][1] = 1 - (model_steps - 1)

    assert said(check_insertion(planted, DECODE, 1, Held(batch, PROPOSER))) == [
        "mask_rollback[1, 0]: -1, expected 1, slot 1 is inserted"
    ]


def target():
    buffer = paddle.zeros([3], "int32")
    return {
        "seq_lens_this_time_buffer": buffer,
        "seq_lens_this_time": buffer[:1],
        "draft_tokens": paddle.full([3, 2], -1, "int64"),
    }


TOKENS = np.array([5, 6])
TARGET_DECODE = functools.partial(insertion.insert_target_decode, tokens=TOKENS, method="mtp")


def test_a_length_through_the_view_of_the_last_step_is_lost():
    batch = target()

    def through(name, slot):
        batch[name][slot : slot + 1] = 2
        batch["draft_tokens"][slot] = paddle.to_tensor(TOKENS)

    held = Held(batch, TARGET)
    assert check_insertion(lambda: through("seq_lens_this_time", 0), TARGET_DECODE, 0, held) == []
    assert said(check_insertion(lambda: through("seq_lens_this_time", 2), TARGET_DECODE, 2, held)) == [
        "seq_lens_this_time_buffer[2]: 0, expected 2, slot 2 is inserted"
    ]
    assert check_insertion(lambda: through("seq_lens_this_time_buffer", 2), TARGET_DECODE, 2, held) == []


def test_a_write_to_another_slot():
    batch = proposer()

    def planted():
        insertion.preempt(batch, 1)
        batch["input_ids"][2, 0] = 0

    assert said(check_insertion(planted, insertion.preempt, 1, Held(batch, PROPOSER))) == [
        "input_ids[2, 0]: 0, expected 9, slot 1 is inserted"
    ]


def test_lists_of_requests():
    batch = {"req_ids": ["a", "b", "c"], "index_to_batch_id": {0: 7}}
    held = Held(batch, TARGET)

    def insert(slot):
        batch["req_ids"][slot], batch["index_to_batch_id"][1] = "new", 8

    assert check_insertion(lambda: insert(1), insertion.preempt, 1, held) == []
    assert said(check_insertion(lambda: insert(2), insertion.preempt, 1, held)) == [
        "req_ids[2]: 'new', expected 'c', slot 1 is inserted"
    ]


def test_an_insertion_that_raises():
    found = check_insertion(lambda: {}["slot"], insertion.preempt, 1, Held(proposer(), PROPOSER))
    assert said(found) == ["insert: raises KeyError: 'slot'"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: insertion.preempt(proposer(), 3), "slot 3: seq_lens_encoder has 3 rows"),
        (lambda: CHUNK(proposer(), 0, length=5), "length: 2 to 7, expected a part of the 6 tokens"),
        (lambda: CHUNK(proposer(), 0, model_steps=0), "model_steps: 0"),
        (lambda: CHUNK(proposer(), 0, offsets=OFFSETS[:3]), "offsets: 3, expected at least 6"),
        (
            lambda: insertion.insert_prompt_chunk(proposer(), 0, np.arange(12), 0, 12),
            "input_ids: a row of 8, expected at least 11",
        ),
        (lambda: DECODE(proposer(), 0, cached=-1), "cached: -1"),
        (lambda: TARGET_DECODE(target(), 0, method="naive"), "tokens: 2, expected 1 with naive"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.fixture
def without_views():
    """Slices are copies, as where Paddle's stride kernels are off."""
    flag = "FLAGS_use_stride_kernel"
    paddle.set_flags({flag: False})
    yield
    paddle.set_flags({flag: True})


def test_a_mask_row_by_a_chained_index_is_lost_where_slices_are_copies(without_views):
    batch = {"attn_mask_offsets_full": paddle.full([3, 8], 9, "int32")}
    golden = functools.partial(insertion.insert_prompt_chunk, prompt=PROMPT, start=0, length=6, offsets=OFFSETS)
    held, row = Held(batch, PROPOSER), paddle.to_tensor(OFFSETS.astype("int32"))

    def chained():
        batch["attn_mask_offsets_full"][1][0:6] = row

    def indexed():
        batch["attn_mask_offsets_full"][1, 0:6] = row

    assert said(check_insertion(chained, golden, 1, held))[0].startswith("attn_mask_offsets_full[1, 0]: 9, expected 10")
    assert check_insertion(indexed, golden, 1, held) == []
