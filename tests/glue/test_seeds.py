"""Seeds that advance once a step, in place; and all the ways in which they have not."""

import numpy as np
import paddle
import pytest

from opgold.harness.glue.seeds import check_increment, check_seed_range, check_seeds
from opgold.reference.build_sampling_params import build_sampling_params
from opgold.reference.glue import seeds

CUDA, XPU = seeds.MAX_INFER_SEED["cuda"], seeds.MAX_INFER_SEED["xpu"]


def said(departures):
    return [str(departure) for departure in departures]


def batch_of(*values):
    return {"infer_seed": paddle.to_tensor(np.array(values, np.int64).reshape(-1, 1))}


def right(batch, increment, modulus, live=(0, 1)):
    def step():
        for slot in live:
            seed = int(batch["infer_seed"][slot].item())
            batch["infer_seed"][slot] = (seed + increment) % modulus

    return step


@pytest.mark.parametrize(
    ("method", "drafts", "role", "increment"),
    [
        (None, 3, "mixed", 4),
        ("naive", 3, "mixed", 4),
        ("mtp", 1, "mixed", 8),
        ("mtp", 3, "decode", 16),
        ("mtp", 3, "prefill", 8),
        ("ngram", 5, "mixed", 24),
        ("suffix", 2, "mixed", 12),
    ],
)
def test_increments(method, drafts, role, increment):
    assert seeds.increment(drafts, method, role) == increment
    assert check_increment(increment, drafts, method, role) == []
    assert said(check_increment(increment + 4, drafts, method, role)) == [
        f"increment: {increment + 4}, expected {increment}"
    ]


@pytest.mark.parametrize(("drafts", "drawn", "of"), [(1, 5, 8), (2, 6, 12), (3, 7, 16)])
def test_an_increment_of_4_draws_seeds_again(drafts, drawn, of):
    assert said(check_increment(4, drafts, "mtp"))[1] == (
        f"seeds: 4 steps of {drafts + 1} rows draw {drawn} of {of} different ones"
    )


@pytest.mark.parametrize("modulus", [CUDA, XPU])
def test_steps_that_advance_are_silent(modulus):
    batch = batch_of(5, modulus - 3, 9)
    assert check_seeds(right(batch, 8, modulus), batch, [0, 1], 8, modulus) == []
    assert batch["infer_seed"].ravel().tolist() == [29, 21, 9]


def test_nobody_advances():
    """What naive had left: the same seed every step."""
    assert said(check_seeds(lambda: None, batch_of(5, 6), [0], 4, CUDA)) == [
        "infer_seed[0]: 5 after step 1, expected 9: it advanced 0 times"
    ]


def test_both_advance():
    batch = batch_of(5, 6)
    step = right(batch, 8, CUDA)
    assert said(check_seeds(lambda: [step(), step()], batch, [0, 1], 8, CUDA)) == [
        "infer_seed[0]: 21 after step 1, expected 13: it advanced 2 times",
        "infer_seed[1]: 22 after step 1, expected 14: it advanced 2 times",
    ]


def test_another_slot_advances_too():
    batch = batch_of(5, 6)
    assert said(check_seeds(right(batch, 8, CUDA), batch, [0], 8, CUDA)) == [
        "infer_seed[1]: 14 after step 1, expected 6"
    ]


def test_a_dummy_run_that_advances():
    batch = batch_of(5)
    assert check_seeds(lambda: None, batch, [0], 0, CUDA) == []
    assert said(check_seeds(right(batch, 8, CUDA, [0]), batch, [0], 0, CUDA)) == [
        "infer_seed[0]: 13 after step 1, expected 5: it must not advance"
    ]


def modulo_by_name(batch):
    batch["infer_seed"] += 8
    batch["infer_seed"] %= CUDA


def modulo_in_place(batch):
    batch["infer_seed"][:] += 8
    batch["infer_seed"][:] %= CUDA


def test_a_modulo_that_leaves_the_alias_behind():
    batch = batch_of(5, 6)
    proposer = {"infer_seed": batch["infer_seed"]}
    aliases = [(proposer, "infer_seed")]
    assert check_seeds(lambda: modulo_in_place(batch), batch, [0, 1], 8, CUDA, aliases=aliases) == []
    assert said(check_seeds(lambda: modulo_by_name(batch), batch, [0, 1], 8, CUDA, aliases=aliases)) == [
        "infer_seed: the name stands for another tensor after step 1",
        "infer_seed: is another tensor than infer_seed after step 1",
    ]


def test_a_sum_that_wraps_first():
    """2^63 - 3 and 8 are 7 modulo 2^63 - 2; int64 wraps, and gives 3."""
    assert seeds.advanced(2**63 - 3, 8, CUDA) == 7
    batch = batch_of(2**63 - 3)
    assert said(check_seeds(lambda: modulo_in_place(batch), batch, [0], 8, CUDA)) == [
        "infer_seed[0]: 3 after step 1, expected 7"
    ]


def test_rows_are_those_of_the_op():
    """The glue's seeds and increment are what `build_sampling_params` draws and leaves."""
    seed, increment = np.array([XPU - 5], np.int64), seeds.increment(2, "mtp")
    drawn = np.zeros((3, 1), np.int64)
    build_sampling_params(
        np.ones(1, np.float32),
        np.ones(1, np.int64),
        seed,
        np.array([3], np.int32),
        np.array([0, 3], np.int32),
        token_num_output_cpu=3,
        increment_value=increment,
        max_infer_seed=XPU,
        top_p_padding=np.zeros((3, 1), np.float32),
        top_k_padding=np.zeros((3, 1), np.int64),
        topp_seed=drawn,
    )
    assert drawn.ravel().tolist() == seeds.row_seeds(XPU - 5, 3, XPU)
    assert seed[0] == seeds.advanced(XPU - 5, increment, XPU)


def test_seeds_of_dummy_runs():
    assert check_seed_range(np.array([[0], [XPU - 1]]), "xpu") == []
    assert check_seed_range(paddle.to_tensor([CUDA - 1]), "cuda") == []
    assert said(check_seed_range(np.array([[0], [9 * 10**17]]), "xpu")) == [
        f"infer_seed[1, 0]: {9 * 10**17}, expected 0 to {XPU - 1}"
    ]


def test_who_advances():
    advances = {(m, s): seeds.who_advances(m, s) for m in (None, "naive", "mtp", "ngram") for s in seeds.STRATEGIES}
    assert {pair for pair, who in advances.items() if who == "op"} == {
        ("mtp", "target_match"),
        ("ngram", "target_match"),
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: seeds.advanced(XPU, 4, XPU), f"infer_seed: {XPU}, expected 0 to {XPU - 1}"),
        (lambda: seeds.advanced(0, -4, XPU), "increment: -4"),
        (lambda: seeds.increment(1, "mtp", "draft"), "role: 'draft'"),
        (lambda: seeds.increment(1, "eagle"), "method: 'eagle'"),
        (lambda: seeds.who_advances("mtp", "beam"), "strategy: 'beam'"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
