"""Inputs of speculate_set_value_by_flags_and_idx: both ends of the history, stopped and empty slots, spare slots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, histories
from opgold.cases.draft_rows import (
    INT32,
    INT64,
    Fault,
    anything,
    between,
    fill,
    flags,
    noise,
    put,
    wide_ids,
    with_fault,
)
from opgold.cases.relations import Arrays, Layout, PerSlot, Relation, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op

KINDS = ("decode", "decode", "prompt", "stopped", "empty", "not started")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does, slots = draw(histories.slots(KINDS, min_slots=min_slots))
    rng, bsz = draw(edges.seeds()), len(does)
    width = draw(edges.sizes(0, 129, usual=7)) if bsz <= 8 else draw(st.sampled_from([1, 3, 33]))
    history = draw(edges.sizes(0, 1025, usual=12)) if bsz <= 8 else 12
    kind = np.concatenate([does, rng.choice(KINDS, slots - bsz)])
    accepted = between(rng, np.zeros(slots, np.int64), np.full(slots, width))
    prompts = between(rng, np.zeros(slots, np.int64), np.full(slots, history + 1))
    steps = np.where(
        rng.random(slots) < 0.5,
        rng.integers(1, width + 3, slots),
        history - prompts + rng.integers(-2, width + 3, slots),
    )
    steps = np.where(rng.random(slots) < 0.1, rng.choice([0, 1, 2, 3], slots), steps)
    started = kind != "not started"
    enc, dec = kind == "prompt", (kind == "decode") | (kind == "not started")
    return Sample(
        {
            "token_ids_all": wide_ids(rng, slots, history),
            "prompt_lens": prompts,
            "accept_tokens": wide_ids(rng, slots, width),
            "accept_num": np.where(np.isin(kind, ("decode", "prompt")), accepted, anything(rng, slots)).astype(
                np.int32
            ),
            "stop_flags": kind == "stopped",
            "seq_lens_this_time": anything(rng, bsz).astype(np.int32),
            "seq_lens_encoder": fill(kind == "stopped", anything(rng, slots), enc * rng.integers(1, 9, slots)),
            "seq_lens_decoder": fill(kind == "stopped", anything(rng, slots), dec * rng.integers(1, 9, slots)),
            "step_idx": np.where(started, np.maximum(steps, 1), rng.choice([0, -1, INT64.min], slots)),
            "history_layout": draw(st.sampled_from([1, 1, 0])),
        }
    )


def _writes(inputs: Arrays) -> np.ndarray:
    bsz = len(inputs["seq_lens_this_time"])
    lengths = (inputs["seq_lens_encoder"] != 0) | (inputs["seq_lens_decoder"] != 0)
    writes = np.asarray(~inputs["stop_flags"] & lengths & (inputs["step_idx"] > 0))
    writes[bsz:] = False
    return writes


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in slots that write."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    slot = draw(st.integers(0, len(inputs["seq_lens_this_time"]) - 1))
    forced = put(inputs, "stop_flags", slot, 0) | put(inputs, "seq_lens_decoder", slot, 5)
    inputs |= forced | put(inputs, "step_idx", slot, draw(st.sampled_from([1, 2, int(INT64.max)])))
    live = np.arange(len(inputs["stop_flags"])) == slot
    width = inputs["accept_tokens"].shape[1]
    wrong_count = [width + 1, -1, int(INT32.max), int(INT32.min)]
    faults: list[Fault] = [
        (live, lambda _: {"seq_lens_this_time": np.zeros(len(inputs["step_idx"]) + 1, np.int32)}),
        (live, lambda _: {"history_layout": draw(st.sampled_from([-1, 2]))}),
        (live, lambda b: put(inputs, "accept_num", b, draw(st.sampled_from(wrong_count)))),
        (live, lambda b: put(inputs, "prompt_lens", b, draw(st.sampled_from([-1, int(INT64.min), -int(INT64.max)])))),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


SLOT_NAMES = ("token_ids_all", "prompt_lens", "accept_tokens", "accept_num", "seq_lens_this_time", "step_idx")
LAYOUT: Layout = {
    **{name: PerSlot() for name in (*SLOT_NAMES, "seq_lens_encoder", "seq_lens_decoder")},
    "stop_flags": PerSlot(),
}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other accepted tokens behind the accepted ones, other steps and prompts of slots that do not write."""
    writes = _writes(inputs)
    tokens = np.asarray(inputs["accept_tokens"])
    read = writes[:, None] & (np.arange(tokens.shape[1]) < np.asarray(inputs["accept_num"])[:, None])
    other = noise(inputs, ["prompt_lens"], rng)["prompt_lens"]
    return {
        "accept_tokens": np.where(read, tokens, rng.integers(0, 99, tokens.shape)),
        "prompt_lens": np.where(writes, inputs["prompt_lens"], other),
        "seq_lens_this_time": anything(rng, len(inputs["seq_lens_this_time"])).astype(np.int32),
    }


def _cells(inputs: Arrays) -> Arrays:
    """Each cell's value, from where it stands."""
    ids, counts = np.array(inputs["token_ids_all"]), np.asarray(inputs["accept_num"], np.int64)
    place = np.arange(ids.shape[1])
    for b in np.flatnonzero(_writes(inputs)):
        entry = place - min(int(inputs["prompt_lens"][b]), ids.shape[1] + 1)
        back = int(inputs["step_idx"][b]) - 1 + inputs.get("history_layout", 1) - entry  # 0 at the last token
        given = (entry >= 0) & (back >= 0) & (back < counts[b])
        ids[b, given] = inputs["accept_tokens"][b, counts[b] - 1 - back[given]]
    return {"token_ids_all": ids}


def _other_layout(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """Layout 1 at a step is layout 0 at the next."""
    steps = sample.inputs["step_idx"]
    if sample.inputs.get("history_layout", 1) == 0 or np.any((steps <= 0) & ~np.asarray(sample.inputs["stop_flags"])):
        return None
    return replace(sample, inputs={**sample.inputs, "history_layout": 0, "step_idx": steps + 1})


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    unread("other values where nothing is read", _unread),
    agrees("cell by cell", _cells),
    Relation("the other layout", _other_layout, lambda sample, outputs, rng: outputs),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "token_ids_all": batch.ids(SLOTS, 2048),
        "prompt_lens": rng.integers(10, 1000, SLOTS),
        "accept_tokens": batch.ids(SLOTS, batch.drafts),
        "accept_num": np.full(SLOTS, batch.drafts, np.int32),
        "stop_flags": flags(rng, SLOTS, 0.1),
        "seq_lens_this_time": batch.this,
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "step_idx": rng.integers(100, 1000, SLOTS),
    }


WORKLOADS = index_op(workload)
