"""Sizes of graphs, the choice of one, and warm-ups: the contract's examples, and faults that are planted."""

import functools
import itertools

import pytest

from opgold.harness.glue import Departed, require
from opgold.harness.glue.capture import (
    check_capture_sizes,
    check_captured,
    check_graph_choice,
    check_pad,
    check_prefill_lengths,
    check_size_of,
    check_warm_up,
)
from opgold.harness.glue.gates import check_draft_gate, check_moe_phase, check_target_gate
from opgold.reference.glue import gates
from opgold.reference.glue.capture import capture_sizes, graph_of, pad, size_of
from opgold.reference.glue.warm_up import (
    Rows,
    expected_decode_len,
    prefill_lengths,
    warm_up_batch,
    warm_up_prompt,
    warm_up_rows,
)


def said(departures):
    return [str(departure) for departure in departures]


def test_examples_of_the_contract():
    sizes = capture_sizes(8, 1, "mtp")
    assert sizes == [16, 8, 4, 2]
    assert (pad(0, sizes), pad(3, sizes), pad(9, sizes)) == (0, 4, 16)
    assert [size_of(rows, sizes, 2) for rows in range(1, 9)] == [2, 4, 8, 8, 16, 16, 16, 16]
    sizes = capture_sizes(6, 2, "suffix")
    assert sizes == [18, 12, 6, 3]
    assert [size_of(rows, sizes, 3) for rows in range(1, 7)] == [3, 6, 12, 12, 18, 18]


@pytest.mark.parametrize(
    ("method", "sizes"),
    [("ngram", [8, 6, 3]), ("naive", [8, 4, 2, 1]), (None, [8, 4, 2, 1]), ("mtp", [24, 12, 6, 3])],
)
def test_limit_and_width_hang_on_the_method(method, sizes):
    assert capture_sizes(8, 2, method) == sizes


def test_multipliers_grow_coarser():
    sizes = capture_sizes(1024)
    assert sizes[:2] == [1024, 992]
    assert sizes[-20:-16] == [144, 128, 120, 112]
    assert len(capture_sizes(9999)) == len(sizes) + 1
    assert capture_sizes(3, 1, "mtp", only_prefill=True)[0] == 512


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: capture_sizes(3, 2, "mtp"), "max_num_seqs: 3 rows of 3 are 9 tokens, expected an even number"),
        (lambda: capture_sizes(0), "max_num_seqs: 0"),
        (lambda: capture_sizes(4, 1, "eagle"), "method: 'eagle', expected mtp"),
        (lambda: capture_sizes(4, -1, "mtp"), "num_speculative_tokens: -1"),
        (lambda: capture_sizes(4, tensor_parallel=0), "tensor_parallel: 0"),
        (lambda: capture_sizes(3, tensor_parallel=5), "tensor_parallel: 5 divides none"),
        (lambda: pad(17, [16, 8]), "tokens: 17, expected 0 to 16"),
        (lambda: pad(-1, [16, 8]), "tokens: -1"),
        (lambda: size_of(9, [16, 8], 2), "rows: 9, expected 0 to 8"),
        (lambda: size_of(1, [16, 7], 2), r"sizes\[1\] is 7, expected a multiple of 2"),
        (lambda: graph_of(17, 8, [16], 1, "mtp"), "tokens: 17, expected at most 16"),
        (lambda: warm_up_batch(1, 2), "size: 1, expected a multiple of 2"),
        (lambda: warm_up_batch(2, 0), "width: 0"),
        (lambda: warm_up_prompt(8, 16, 64, 4), "leave no token"),
        (lambda: warm_up_rows(0, 1), "decode_len: 0"),
        (lambda: prefill_lengths(4, 0), "max_num_seqs: 0"),
        (lambda: gates.target_replays(gates.GraphConfig(True), [], 1), "has_prefill: is empty"),
        (lambda: gates.moe_phase([]), "only_decodes: is empty"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_right_sizes_are_silent_and_wrong_ones_named():
    assert check_capture_sizes([18, 12, 6, 3], 6, 2, "mtp") == []
    without_width = said(check_capture_sizes(capture_sizes(6), 6, 2, "mtp"))  # as if a row had one token
    assert "sizes[1]: 4, expected a multiple of 3, the tokens of a row" in without_width
    assert without_width[-2:] == ["sizes: 3, 12, 18 are missing", "sizes: 1, 2, 4 are not expected"]
    assert said(check_capture_sizes([3, 6, 12, 18], 6, 2, "mtp"))[0] == (
        "sizes[1]: 6 follows 3, expected descending sizes"
    )


def test_sizes_that_a_user_chose():
    assert check_capture_sizes([8, 6, 2], 8, 1, "mtp", chosen=True) == []
    assert said(check_capture_sizes([7, 1], 8, 1, "mtp", chosen=True)) == [
        "sizes[0]: 7, expected a multiple of 2, the tokens of a row",
        "sizes[1]: 1, expected a multiple of 2, the tokens of a row",
    ]
    assert said(check_capture_sizes([8, 6], 8, 1, "mtp", tensor_parallel=4, chosen=True)) == [
        "sizes[1]: 6, expected a multiple of the 4 ranks"
    ]
    assert said(check_capture_sizes([0], 8, chosen=True)) == ["sizes[0]: 0, expected at least 1"]


def test_maps_made_before_the_filter_of_ranks_depart():
    filtered = capture_sizes(8, 1, "mtp", tensor_parallel=4)
    assert filtered == [16, 8, 4]
    early = {rows: size_of(rows, capture_sizes(8, 1, "mtp"), 2) for rows in range(1, 9)}
    assert said(check_size_of(early, filtered, 2)) == ["size_of(1): 2, expected 4"]
    assert check_size_of(functools.partial(size_of, sizes=filtered, width=2), filtered, 2) == []


def test_a_pad_that_forgets_its_ends_departs():
    assert check_pad(functools.partial(pad, sizes=[4, 2]), [4, 2]) == []
    assert said(check_pad({1: 2, 2: 2, 3: 4, 4: 4}, [4, 2])) == ["pad(0): raises KeyError: 0, expected 0"]
    assert said(check_pad(lambda tokens: tokens if tokens < 2 else 4, [4, 2])) == [
        "pad(1): 1, expected 2",
        "pad(2): 4, expected 2",
        "pad(5): 4, expected an error: no graph is so large",
    ]


@pytest.mark.parametrize("method", ["naive", "ngram", None])
def test_an_empty_map_is_no_map(method):
    """`all` of an empty map holds, so a method without a map of rows looks its key up in it."""
    sizes, map_of_rows = capture_sizes(4, 1, method), {}

    def planted(tokens, rows):
        has_map = all(size in sizes for size in map_of_rows.values())
        return map_of_rows[rows] if has_map else pad(tokens, sizes)

    found = said(check_graph_choice(planted, sizes, 4, 1, method))
    assert "1 tokens in 1 rows: raises KeyError: 1, expected 1" in found or method == "ngram"
    assert "2 tokens in 2 rows: raises KeyError: 2, expected 2" in found
    assert check_graph_choice(lambda tokens, rows: pad(tokens, sizes), sizes, 4, 1, method) == []


def test_a_choice_by_tokens_where_rows_choose_departs():
    sizes = capture_sizes(4, 1, "mtp")
    assert check_graph_choice(lambda tokens, rows: size_of(rows, sizes, 2), sizes, 4, 1, "mtp") == []
    assert "2 tokens in 2 rows: 2, expected 4" in said(
        check_graph_choice(lambda tokens, rows: pad(tokens, sizes), sizes, 4, 1, "mtp")
    )


def test_a_graph_of_too_few_rows_departs():
    """Size 7 with rows of 2 warms up 3 rows, 6 tokens, under the key 7."""
    ran = {size: (size // 2) * 2 for size in (8, 7, 2)}
    (departure,) = check_captured(ran)
    assert str(departure) == "graph 7: captured with 6 tokens, expected 7"
    with pytest.raises(Departed, match="graph 7"):
        require([departure])
    require(check_captured({8: 8}))


@pytest.mark.parametrize(
    ("decode_len", "accept_all", "rows"),
    [
        (6, True, Rows((3, 3), (3,))),
        (5, True, Rows((3, 1, 1), ())),
        (1, True, Rows((1,), ())),
        (6, False, Rows((3, 3, 3, 3, 1, 1), (1, 1, 1))),
    ],
)
def test_rows_of_a_warm_up(decode_len, accept_all, rows):
    assert warm_up_rows(decode_len, 2, accept_all=accept_all) == rows


@pytest.mark.parametrize("drafts", range(1, 6))
def test_the_least_length_that_captures_full_rows(drafts):
    width = drafts + 1
    lengths = range(1, 3 * width)
    assert next(e for e in lengths if width in warm_up_rows(e, drafts).target) == width
    assert next(e for e in lengths if width in warm_up_rows(e, drafts).draft) == expected_decode_len(drafts)


def test_warm_ups_that_miss_the_full_rows_are_reported():
    assert check_warm_up({"target": 6, "proposer": 6}, 2, 2) == []
    assert said(check_warm_up({"target": 6, "proposer": 1}, 2, 2)) == [
        "expected_decode_len of proposer: 1, expected 6, the same for all",
        "warm-up of 1 tokens: the target runs 1 rows a slot, expected 3 once",
        "warm-up of 1 tokens: the draft runs no rows a slot, expected 3 once",
    ]
    assert said(check_warm_up({"rank 0": 6}, 2, 2, accept_all=False)) == [
        "warm-up of 6 tokens: the draft runs 1, 1, 1 rows a slot, expected 3 once"
    ]
    assert len(check_warm_up({"rank 0": 6}, 2, 1)) == 2  # fewer steps than drafts never fill a row


def test_prompts_of_a_warm_up():
    assert warm_up_batch(16, 2) == 8
    assert warm_up_prompt(64, 8, 32, 4) == 8
    assert warm_up_prompt(4096, 8, 32, 4) == 27
    assert warm_up_prompt(4096, 8, 4096, 4, expert_parallel=True) == 32


def test_prefill_that_is_dealt_evenly_departs():
    assert prefill_lengths(10, 4) == [1, 1, 1, 7]
    assert prefill_lengths(3, 4) == [1, 1, 1]
    assert check_prefill_lengths({"target": [1, 1, 1, 7]}, 10, 4) == []
    assert said(check_prefill_lengths({"target": [1, 1, 1, 7], "proposer": [2, 2, 2, 2]}, 10, 4)) == [
        "prompts of proposer: [2, 2, 2, 2], expected [1, 1, 1, 7]"
    ]


def test_gates():
    assert check_target_gate(gates.target_replays) == []
    assert check_draft_gate(gates.draft_replays) == []
    assert gates.prefill_role(gates.GraphConfig(False, True)) == gates.GraphConfig(True, True)
    assert gates.prefill_role(gates.GraphConfig(True)) == gates.GraphConfig(False)


def test_gates_that_forget_depart():
    def without_only_prefill(config, has_prefill, tokens, *, only_prefill, capturing):
        return config.use_cudagraph and not any(has_prefill) and tokens > 0 and capturing

    def own_rank(config, has_prefill, tokens, *, only_prefill, capturing):
        return gates.target_replays(config, has_prefill[:1], tokens, only_prefill=only_prefill, capturing=capturing)

    (lost, *_) = check_target_gate(without_only_prefill)
    assert "cudagraph_only_prefill=True" in str(lost)
    assert all("has_prefill [False, True]" in line for line in said(check_target_gate(own_rank)))
    assert len(check_target_gate(own_rank)) == 1
    every_substep = check_draft_gate(lambda config, target, substep, *, dummy: target)
    assert any("substep 1, dummy True" in line for line in said(every_substep))


def test_a_draft_that_is_not_told_the_phase():
    assert said(check_moe_phase({"target": "decode", "proposer": "prefill"}, [True, True])) == [
        "moe_phase of proposer: 'prefill', expected 'decode'"
    ]
    assert check_moe_phase({"target": "prefill", "proposer": "prefill"}, [True, False]) == []


def test_golden_sizes_hold_every_batch():
    """Every batch of up to all rows has a graph, of the least size."""
    for drafts, rows in itertools.product((1, 3), range(1, 9)):
        sizes = capture_sizes(8, drafts, "mtp")
        size = graph_of(rows, rows, sizes, drafts, "mtp")
        assert size >= rows * (drafts + 1)
        assert all(other < rows * (drafts + 1) for other in sizes if other < size)
