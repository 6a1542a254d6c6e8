"""Inputs of draft_model_update_packed: rows that run, wait, are held at their limit, or stopped with tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import draft_updates, draft_workloads, edges
from opgold.cases.draft_rows import (
    INT32,
    INT64,
    anything,
    beside,
    flags,
    kinds,
    noise,
    put,
    wide_ids,
    wider_rows,
    with_fault,
)
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Prefix,
    Whole,
    agrees,
    grow,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op

KINDS = ("prompt", "decode", "decode", "held", "waiting", "stopped", "stopped with tokens")


def acting(inputs: Arrays) -> np.ndarray:
    """bool [bsz]."""
    return np.asarray(inputs["seq_lens_this_time"]) > 0


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(KINDS, min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, held = len(does), does == "held"
    decode = (does == "decode") | held
    inputs: dict[str, Any] = draw(draft_updates.steps(does == "prompt", decode, rng))
    step, limit = inputs["step_idx"], inputs["max_dec_len"]
    far = flags(rng, bsz, 0.3)  # a held row may stand anywhere, also past its history
    inputs["step_idx"] = np.where(held & far, rng.choice(np.array([200, 2**40, INT64.max - 1]), bsz), step)
    low = np.where(flags(rng, bsz), inputs["step_idx"] + 1, np.full(bsz, INT64.min))
    inputs["max_dec_len"] = np.where(held, low, np.where(does == "decode", np.maximum(limit, step + 2), limit))
    this = inputs["seq_lens_this_time"]
    this[does == "waiting"] = 0
    inputs["seq_lens_encoder"][does == "waiting"] = 0
    stopped = (does == "stopped") | (does == "stopped with tokens")
    this[does == "stopped"] = -(abs(this[does == "stopped"] // 2))
    this[does == "stopped with tokens"] = abs(this[does == "stopped with tokens"] // 2) + 1
    return Sample(
        {
            **inputs,
            "inter_next_tokens": wide_ids(rng, int((this > 0).sum()) + draw(st.integers(0, 3))),
            "cu_seqlens_q_output": rng.integers(0, 9, bsz + 1).cumsum().astype(np.int32),
            "stop_flags": stopped,
            "end_ids": wide_ids(rng, draw(st.integers(0, 2))),
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in rows that are not stopped, too few tokens, or anything at all in every row."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    stopped, enc, acts = inputs["stop_flags"], inputs["seq_lens_encoder"], acting(inputs)
    live = acts & ~stopped
    prompt, decode = live & (enc > 0), live & (enc <= 0)
    held = np.array(
        [s >= int(m) - 1 for s, m in zip(inputs["step_idx"].tolist(), inputs["max_dec_len"], strict=True)], bool
    )
    distant = put(inputs, "max_dec_len", 0, 0)["max_dec_len"]
    distant[decode & ~held] = INT64.max  # so that a step past the history does not hold the row

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, draft_updates.VECTORS, draw(edges.seeds()))
        return wild | put(inputs, "stop_flags", 0, 0) | put(wild, "seq_lens_this_time", 0, INT32.min)

    faults = [
        (rows, beside({"max_dec_len": distant}, fault))
        for rows, fault in draft_updates.faults(inputs, prompt, decode, decode & ~held)
    ]
    waiting = ~stopped & ~acts
    faults += [
        (np.ones(1, bool), chaos),
        (acts, lambda _: {"inter_next_tokens": inputs["inter_next_tokens"][: int(acts.sum()) - 1]}),
        (waiting, lambda slot: put(inputs, "seq_lens_encoder", slot, 5)),
        (waiting, lambda slot: put(inputs, "seq_lens_this_time", slot, draw(st.sampled_from([-1, INT32.min])))),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other prefix sums, end tokens and limits, and other tokens of rows that are stopped."""
    stopped, bsz = np.asarray(inputs["stop_flags"]), len(np.asarray(inputs["stop_flags"]))
    tokens, owners = np.array(inputs["inter_next_tokens"]), np.flatnonzero(acting(inputs))
    for rank in np.flatnonzero(stopped[owners]):
        tokens[rank] = wide_ids(rng, 1)[0]
    return {
        "inter_next_tokens": tokens,
        "cu_seqlens_q_output": anything(rng, bsz + 1).astype(np.int32),
        "end_ids": tokens[:3].copy(),
        "max_dec_len": np.where(stopped, anything(rng, bsz, INT64), inputs["max_dec_len"]),
        "max_seq_len": int(rng.integers(0, 9000)),
    }


def _more_tokens(sample: Sample, extra: int) -> Sample:
    tokens = np.concatenate([np.asarray(sample.inputs["inter_next_tokens"]), np.arange(extra)])
    return replace(sample, inputs={**sample.inputs, "inter_next_tokens": tokens})


def _states(inputs: Arrays) -> Arrays:
    """Lengths and steps, worked out for all slots at once; the column of drafts from a queue of tokens."""
    given = {name: np.asarray(value) for name, value in inputs.items()}
    acts, stopped, enc = acting(inputs), given["stop_flags"], given["seq_lens_encoder"]
    live, prompt = acts & ~stopped, enc > 0
    queue = iter(given["inter_next_tokens"].tolist())
    token = np.array([next(queue) if act else 0 for act in acts], np.int64)
    room = np.where(given["max_dec_len"] == INT64.min, INT64.min, given["max_dec_len"] - 1)
    moves = live & (prompt | (given["step_idx"] < room))
    step = given["step_idx"] + np.where(moves, np.where(prompt, 1, given["seq_lens_this_time"]), 0)
    drafts = np.where(live & ~moves | acts & stopped, -1, token)
    kept = ~acts | live & prompt & (step >= given["max_dec_len"])
    column = given["base_model_draft_tokens"].copy()
    column[:, inputs["substep"] + 1] = np.where(kept, column[:, inputs["substep"] + 1], drafts)
    added = np.where(moves, np.where(prompt, enc, given["seq_lens_this_time"]), 0)
    return {
        "not_need_stop": np.array([live.any()]),
        "seq_lens_this_time": np.where(acts, live, given["seq_lens_this_time"]).astype(np.int32),
        "seq_lens_encoder": np.where(acts, 0, enc).astype(np.int32),
        "seq_lens_decoder": (given["seq_lens_decoder"] + added).astype(np.int32),
        "step_idx": step,
        "base_model_draft_tokens": column,
    }


def _none(inputs: Arrays) -> np.ndarray:
    return np.zeros(len(np.asarray(inputs["stop_flags"])), bool)


LAYOUT: Layout = {
    **{name: PerSlot() for name in draft_updates.VECTORS},
    "inter_next_tokens": Packed(lambda inputs: acting(inputs).astype(np.int32)),
    "draft_tokens": PerSlot(),
    "pre_ids": PerSlot(),
    "cu_seqlens_q_output": Prefix(),
    "stop_flags": PerSlot(),
    "not_need_stop": Whole(),
    "base_model_draft_tokens": PerSlot(),
}

RELATIONS = (
    permute_slots(LAYOUT, "stop_flags"),
    insert_idle_slots(LAYOUT, "stop_flags"),
    grow("more sampled tokens", _more_tokens, {}),
    unread("other values where nothing is read", _unread),
    wider_rows({"base_model_draft_tokens": _none}, ("draft_tokens", "pre_ids")),
    agrees("states of all slots at once", _states),
)


def workload(batch: Batch) -> dict[str, Any]:
    return draft_workloads.sampled(batch, SLOTS)


WORKLOADS = index_op(workload)
