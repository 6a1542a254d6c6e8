"""A step's packing and the buffers that it goes to: seven results, full sizes, pairs, and lengths that are kept."""

import numpy as np
import paddle
import pytest

from opgold.harness.glue.packing import (
    check_buffers,
    check_last_lengths,
    check_packings,
    check_pre_process,
)
from opgold.reference.glue.packing import PACKINGS, Packing, copy_into, copy_results, keep_lengths, pre_process

ROWS, WIDTH = 4, 2


def said(departures):
    return [str(departure) for departure in departures]


def arguments(lengths=(2, 3, 1), encoder=(0, 3, 0), speculative=True):
    """Of pre_process, for lengths in tokens."""
    lengths, encoder = np.array(lengths, np.int32), np.array(encoder, np.int32)
    ids = np.arange(10 * len(lengths), dtype=np.int64).reshape(-1, 10)
    given = [int(lengths.sum()), ids, lengths, speculative]
    return [*given, ids[:, :WIDTH] + 100, encoder, np.zeros_like(lengths)] if speculative else given


def buffers(size=8, fill=7):
    make = lambda count, dtype: np.full(count, fill, dtype)  # noqa: E731  (one line, used here alone)
    return {
        "ids_remove_padding": make(size, np.int64),
        "batch_id_per_token": make((size, 1), np.int32),
        "cu_seqlens_q": make(ROWS + 1, np.int32),
        "cu_seqlens_k": make(ROWS + 1, np.int32),
        "cu_seqlens_q_output": make((ROWS + 1, 1), np.int32),
        "batch_id_per_token_output": make(ROWS * WIDTH, np.int32),
    }


def test_results():
    results = pre_process(*arguments())
    assert results.ids_remove_padding.tolist() == [100, 101, 10, 11, 12, 120]
    assert results.cu_seqlens_q_output.tolist() == [0, 2, 3, 4]
    assert results.batch_id_per_token_output.tolist() == [0, 0, 1, 2, -1, -1]
    plain = pre_process(*arguments(speculative=False))
    assert plain.ids_remove_padding.tolist() == [0, 1, 10, 11, 12, 20]
    assert plain[4:] == (None, None, None)
    with pytest.raises(ValueError, match="expected all in a speculative step"):
        pre_process(*arguments()[:4])


def test_right_results_are_silent():
    for given in (arguments(), arguments(speculative=False), arguments((0, 0), (0, 0))):
        assert check_pre_process(pre_process(*given), *given) == []
    given = arguments()
    tensors = [paddle.to_tensor(value) for value in pre_process(*given)]
    columns = [value.reshape(-1, 1) if place in (2, 5, 6) else value for place, value in enumerate(given)]
    assert check_pre_process(tensors, *columns) == []


def test_results_that_depart():
    given = arguments()
    right = pre_process(*given)
    assert said(check_pre_process(right[:4], *given)) == ["pre_process: 4 results, expected 7"]
    assert said(check_pre_process(right._replace(real_output_token_num=None), *given)) == [
        "real_output_token_num: None, expected a tensor"
    ]
    swapped = [*right[:2], right[3] + 1, *right[3:]]
    assert said(check_pre_process(swapped, *given))[0].startswith("cu_seqlens_q[0]: 1, expected 0")
    plain = arguments(speculative=False)
    assert said(check_pre_process([*pre_process(*plain)[:4], right[4], None, None], *plain)) == [
        "cu_seqlens_q_output: a tensor, expected None: the step has no drafts"
    ]
    tail = right.batch_id_per_token_output.copy()
    tail[-1] = 99  # the op leaves it open
    assert check_pre_process(right._replace(batch_id_per_token_output=tail), *given) == []


def test_buffers_of_full_size():
    batch = buffers()
    for given in (arguments(), arguments((1, 0), (0, 0)), arguments((0,), (0,)), arguments()):
        copy_results(batch, pre_process(*given))
        assert check_buffers(batch, *given) == []
        assert check_buffers({name: paddle.to_tensor(array) for name, array in batch.items()}, *given) == []
    copy_results(batch, pre_process(*arguments(speculative=False)))
    assert batch["cu_seqlens_q_output"].ravel().tolist() == [0, 2, 3, 4, 4]


@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("batch_id_per_token", "batch_id_per_token[2]: 1, expected -1 behind the step"),
        ("cu_seqlens_q", "cu_seqlens_q[3]: 6, expected 2 behind the step"),
        (
            "batch_id_per_token_output",
            "batch_id_per_token_output[2]: 1, expected -1 (2 elements differ); [0, 1, 1, 2], expected [0, 1, -1, -1]",
        ),
    ],
)
def test_what_a_copy_without_a_fill_leaves(name, report):
    """A large step, then a small one of which this buffer gets the front alone."""
    batch = buffers()
    copy_results(batch, pre_process(*arguments()))
    stale = batch[name].copy()
    small = arguments((1, 1), (0, 0))
    results = pre_process(*small)
    copy_results(batch, results)
    front = getattr(results, name)
    front = front[front >= 0]
    batch[name][len(front) :] = stale[len(front) :]
    assert said(check_buffers(batch, *small)) == [report]


def test_buffers_without_room_or_ids():
    batch, given = buffers(size=5), arguments()
    with pytest.raises(ValueError, match="ids_remove_padding: 5, expected at least 6"):
        copy_results(batch, pre_process(*given))
    assert said(check_buffers(batch, *given))[0] == "ids_remove_padding: 5 elements, expected at least 6"
    batch = buffers(fill=-5)
    copy_results(batch, pre_process(*given))
    batch["ids_remove_padding"][7] = -5
    assert said(check_buffers(batch, *given)) == ["ids_remove_padding[7]: -5, expected a token id behind the step"]
    with pytest.raises(ValueError, match="x: int64 values for a buffer of int32"):
        copy_into("x", np.zeros(2, np.int32), np.zeros(2, np.int64), 0)


def packed_batch():
    return {
        "seq_lens_this_time": np.array([2, 3], np.int32),
        "seq_lens_encoder": np.array([0, 3, 0], np.int32),
        "cu_seqlens_q": np.array([0, 2, 5, 5], np.int32),
        "batch_id_per_token": np.array([0, 0, 1, 1, 1, -1], np.int32),
        "cu_seqlens_q_output": np.array([[0], [2], [3], [3]], np.int32),
        "batch_id_per_token_output": np.array([0, 0, 1, -1, -1, -1], np.int32),
        "real_output_token_num": np.array([3], np.int32),
    }


def test_pairs():
    counted = Packing(
        "seq_lens_this_time", "cu_seqlens_q_output", count="real_output_token_num", encoder="seq_lens_encoder"
    )
    assert check_packings(packed_batch(), [*PACKINGS, counted]) == []
    changed = packed_batch() | {"real_output_token_num": np.array([5])}
    assert said(check_packings(changed, [counted])) == [
        "real_output_token_num[0]: 5, expected 3, from seq_lens_this_time"
    ]
    offsets = packed_batch() | {"batch_id_per_token": np.array([0, 0, 7, 7, 7, -1], np.int32)}  # padding offsets
    assert said(check_packings(offsets))[0].startswith("batch_id_per_token[2]: 7, expected 1, from seq_lens_this_time")
    by_two = packed_batch() | {"batch_id_per_token_output": np.array([0, 2, 4, -1, -1, -1], np.int32)}
    assert said(check_packings(by_two))[0].startswith("batch_id_per_token_output[1]: 2, expected 0")
    short = packed_batch() | {"cu_seqlens_q": np.array([0, 2], np.int32)}
    assert said(check_packings(short)) == [
        "cu_seqlens_q: does not hold what the lengths ask for: cu_seqlens_q: 2, expected at least 3, the values that "
        "are copied"
    ]


def rounds(keep):
    """A round of two substeps: lengths 3, 2, then 1, 1. `keep(batch)` runs before each forward."""

    def substeps(take):
        batch = {
            "now": paddle.to_tensor(np.array([3, 2], np.int32)),
            "last": paddle.full([4], -1, "int32"),
        }
        for _ in range(2):
            keep(batch)
            batch["now"].copy_(paddle.ones([2], "int32"), False)  # the update
            take(batch["last"])

    return substeps


LENGTHS = [[3, 2], [1, 1]]


def test_lengths_that_are_kept():
    assert check_last_lengths(rounds(lambda batch: batch["last"].copy_(batch["now"], False)), LENGTHS) == []
    last = np.full(4, -1, np.int32)
    keep_lengths(last, np.array([3, 2], np.int32), model_steps=1)
    assert last.tolist() == [-1, -1, -1, -1]
    keep_lengths(last, np.array([3, 2], np.int32), model_steps=2)
    assert last.tolist() == [3, 2, 0, 0]


def test_an_alias_in_place_of_a_copy():
    """It passes every look at addresses."""
    found = said(check_last_lengths(rounds(lambda batch: batch.update(last=batch["now"])), LENGTHS))
    assert found == [
        "last_seq_lens_this_time of substep 0[0]: 1, expected 3 (2 elements differ); [1, 1], expected [3, 2]"
    ]


def test_lengths_that_are_kept_once():
    def planted(batch):
        if batch["last"][0].item() == -1:
            batch["last"].copy_(batch["now"], False)

    assert said(check_last_lengths(rounds(planted), LENGTHS))[0].startswith(
        "last_seq_lens_this_time of substep 1[0]: 3"
    )
    assert said(check_last_lengths(lambda take: None, LENGTHS)) == [
        "last_seq_lens_this_time: taken 0 times, expected 2"
    ]
