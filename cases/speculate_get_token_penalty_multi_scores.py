"""Inputs of speculate_get_token_penalty_multi_scores: repeated and stray ids, odd logits, several rows a slot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, histories, payload
from opgold.cases.draft_rows import INT32, INT64, anything, put, with_fault
from opgold.cases.hidden import DTYPES
from opgold.cases.relations import Arrays, Layout, Relation, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, Workload
from opgold.reference.schema import as_dtype

KINDS = ("one row", "drafts", "drafts", "no row")
VOCABULARIES = (1, 2, 3, 5, 8, 13, 16, 31, 32, 33, 64, 67, 129)
WIDE_VOCABULARIES = (1024, 1025, 8191, 8192, 8193, 16385)
WIDE_ROWS = 3  # at most so many of a wide vocabulary
ODD = (0.0, -0.0, np.inf, -np.inf, np.nan, 65504.0, -65504.0, 1e-7)
# Their products with a count are exact, so that a fused multiply-add rounds as often as two operations do.
FREQUENCIES = (0.0, 0.5, 1.0, -0.25, 0.375, 4.0)
PENALTIES = (1.0, 1.5, 0.75, 2.0, 1.2, 0.0, -1.0)
PRESENCES = (0.0, 0.5, -1.5, 0.1, 3.0)
TEMPERATURES = (1.0, 0.5, 0.7, 1.3, 2.0, 0.001, 0.0, -1.0)


def _logits(rng: np.random.Generator, dtype: str, rows: int, vocab: int) -> np.ndarray:
    values = rng.standard_normal((rows, vocab)) * rng.choice([0.1, 4.0, 50.0])
    values = np.where(rng.random(values.shape) < 0.1, rng.choice(ODD, values.shape), values).astype(as_dtype(dtype))
    return values if rng.random() < 0.7 else payload.hidden(rng, dtype, rows, vocab)


def _ids(rng: np.random.Generator, vocab: int, *shape: int) -> np.ndarray:
    """Ids of a vocabulary, few of them different, its first and last among them, and some outside it."""
    inside = np.concatenate([rng.integers(0, vocab, 3), [0, vocab - 1]])
    outside = np.array([-1, vocab, vocab + 1, 2**32, INT64.min, INT64.max])
    coin = rng.random(shape)
    ids = np.where(coin < 0.6, rng.choice(inside, shape), rng.integers(0, vocab, shape))
    return np.where(coin > 0.85, rng.choice(outside, shape), ids).astype(np.int64)


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does, slots = draw(histories.slots(KINDS, min_slots=min_slots))
    rng, layout, dtype = draw(edges.seeds()), draw(st.sampled_from(histories.LAYOUTS)), draw(st.sampled_from(DTYPES))
    rows = np.where(does == "no row", 0, np.where(does == "drafts", rng.integers(2, 8, len(does)), 1))
    packed, count = draw(histories.output_rows(rows))
    wide = count <= WIDE_ROWS and draw(st.integers(0, 3)) == 0
    vocab = draw(st.sampled_from(WIDE_VOCABULARIES if wide else VOCABULARIES))
    seen = draw(histories.histories(slots, layout, np.zeros(1, np.int64)))
    steps = seen.pop("steps")
    max_bad = draw(st.sampled_from([0, 1, 2, 5, 33]))
    target = as_dtype(dtype)
    drawn = {name: rng.choice(values, slots).astype(target) for name, values in SCORES.items()}
    return Sample(
        {
            **packed,
            **seen,
            **drawn,
            "token_ids_all": _ids(rng, vocab, *seen["token_ids_all"].shape),
            "logits": _logits(rng, dtype, count, vocab),
            "temperatures": rng.choice(TEMPERATURES, slots, p=[0.3, *[0.1] * 7]).astype(np.float32),
            "bad_tokens": _ids(rng, vocab, slots, max_bad),
            "bad_tokens_len": rng.integers(0, max_bad + 3, slots),
            "cur_len": np.where(rng.random(slots) < 0.2, -rng.integers(1, 4, slots), steps),
            "min_len": steps + rng.integers(-2, 8, slots),
            "eos_token_id": _ids(rng, vocab, draw(st.sampled_from([0, 1, 2, 32, 33]))),
            "seq_lens_this_time": anything(rng, len(does)).astype(np.int32),
            "max_seq_len": int(rng.integers(0, 9000)),
            "history_layout": layout,
        }
    )


SCORES = {"penalty_scores": PENALTIES, "frequency_scores": FREQUENCIES, "presence_scores": PRESENCES}


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values where a row is changed: batch ids, prefix sums, history, list lengths."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    rows, starts = len(inputs["logits"]), inputs["cu_seqlens_q_output"]
    live = np.isin(np.arange(len(starts) - 1), inputs["batch_id_per_token_output"][:rows])
    width = inputs["token_ids_all"].shape[1]
    far = [int(INT64.max), int(INT64.min), -1]
    any_row = np.full(1, rows > 0)
    faults = [
        (
            np.full(1, rows > 0),
            lambda _: {"batch_id_per_token_output": inputs["batch_id_per_token_output"][: rows - 1]},
        ),
        (np.ones(1, bool), lambda _: {"history_layout": draw(st.sampled_from([-1, 2, 2**40]))}),
        (any_row, lambda _: draw(histories.wrong_row_slot(inputs))),
        (live, lambda slot: put(inputs, "cur_len", slot, draw(st.sampled_from([width + 1, far[0]])))),
        (live, lambda slot: put(inputs, "prompt_lens", slot, draw(st.sampled_from([width + 1, *far])))),
        (live, lambda slot: put(inputs, "bad_tokens_len", slot, draw(st.sampled_from(far[1:])))),
        (live, lambda slot: put(inputs, "cu_seqlens_q_output", slot + 1, draw(st.sampled_from([-1, int(INT32.min)])))),
        (
            live,
            lambda slot: put(inputs, "cu_seqlens_q_output", slot, draw(st.sampled_from([rows + 1, int(INT32.max)]))),
        ),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


PER_SLOT = ("token_ids_all", "prompt_lens", *SCORES, "temperatures", "bad_tokens", "bad_tokens_len", "cur_len")
LAYOUT: Layout = histories.layout_of(*PER_SLOT, "min_len", "seq_lens_this_time")


def _history(inputs: Arrays, rng: np.random.Generator, change: Any) -> Arrays:
    """`change(row, begin, end)` of every slot's row, whose history is row[begin:end]."""
    ids = np.array(inputs["token_ids_all"])
    for row, prompt, count in zip(ids, inputs["prompt_lens"], inputs["cur_len"], strict=True):
        begin = int(prompt) + inputs.get("history_layout", 0)
        change(row, begin, begin + max(0, int(count)))
    return {"token_ids_all": ids}


def _shuffled(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    def shuffle(row: np.ndarray, begin: int, end: int) -> None:
        row[begin:end] = rng.permutation(row[begin:end])

    return _history(inputs, rng, shuffle)


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other ids before and behind the history and behind the bad tokens, other lengths that are only counted."""
    vocab = np.asarray(inputs["logits"]).shape[1]

    def outside(row: np.ndarray, begin: int, end: int) -> None:
        row[:begin] = rng.integers(0, vocab, begin)
        row[end:] = rng.integers(0, vocab, len(row) - end)

    bad = np.array(inputs["bad_tokens"])
    behind = np.arange(bad.shape[1]) >= np.asarray(inputs["bad_tokens_len"])[:, None]
    bad = np.where(behind, rng.integers(0, vocab, bad.shape), bad)
    other = anything(rng, len(inputs["seq_lens_this_time"])).astype(np.int32)
    return {**_history(inputs, rng, outside), "bad_tokens": bad, "seq_lens_this_time": other, "max_seq_len": 1}


def _renamed(arrays: Arrays, vocab: int, rng: np.random.Generator) -> dict[str, Any]:
    """Tokens have other ids: column v of the logits becomes column new[v]."""
    new = rng.permutation(vocab)
    changed = dict(arrays)
    changed["logits"] = np.empty_like(arrays["logits"])
    changed["logits"][:, new] = arrays["logits"]
    for name in {"token_ids_all", "bad_tokens", "eos_token_id"} & set(arrays):
        ids = np.asarray(arrays[name])
        inside = (ids >= 0) & (ids < vocab)
        changed[name] = np.where(inside, new[np.where(inside, ids, 0)], ids)
    return changed


def _rename(sample: Sample, rng: np.random.Generator) -> Sample:
    return replace(sample, inputs=_renamed(sample.inputs, sample.inputs["logits"].shape[1], rng))


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    unread("history in another order", _shuffled),
    unread("other values where nothing is read", _unread),
    Relation("rename tokens", _rename, lambda s, out, rng: _renamed(out, s.inputs["logits"].shape[1], rng)),
)


def _workload(vocab: int, history: int) -> Any:
    def inputs(batch: Batch) -> dict[str, Any]:
        rng = np.random.default_rng(5)
        rows = int(batch.rows.sum())
        return {
            "token_ids_all": rng.integers(0, vocab, (SLOTS, 2 * history)),
            "prompt_lens": rng.integers(0, history, SLOTS),
            "logits": np.resize(rng.standard_normal((1, vocab)).astype(np.float32), (rows, vocab)),
            "penalty_scores": np.full(SLOTS, 1.25, np.float32),
            "frequency_scores": np.full(SLOTS, 0.5, np.float32),
            "presence_scores": np.full(SLOTS, 0.25, np.float32),
            "temperatures": np.full(SLOTS, 0.75, np.float32),
            "bad_tokens": rng.integers(0, vocab, (SLOTS, 4)),
            "bad_tokens_len": np.full(SLOTS, 2),
            "cur_len": np.full(SLOTS, history),
            "min_len": np.full(SLOTS, history + 2),
            "eos_token_id": np.array([2, 7]),
            "seq_lens_this_time": batch.this,
            "batch_id_per_token_output": np.repeat(np.arange(SLOTS), batch.rows).astype(np.int32),
            "cu_seqlens_q_output": batch.cu_seqlens_q_output,
            "max_seq_len": 8192,
        }

    return inputs


WORKLOADS = (
    Workload(Batch("1,280 rows x 151,936 float32", drafts=5), _workload(151_936, 2000), 1.3, "copy"),
    Workload(Batch("1,280 rows x 512 float32", drafts=5), _workload(512, 200), 200_000, "us"),
)
