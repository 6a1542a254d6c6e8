"""Inputs of draft_model_update: prompt chunks and drafts of several tokens, end tokens, limits, stopped rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import draft_updates, draft_workloads, edges
from opgold.cases.draft_rows import INT32, INT64, fill, kinds, noise, put, wide_ids, wider_rows, with_fault
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Prefix,
    Relation,
    Whole,
    agrees,
    grow,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import prefix_sum
from opgold.cases.workload import Batch, index_op

KINDS = ("prompt", "decode", "decode", "stopped")


def _rows(inputs: Arrays) -> np.ndarray:
    return np.diff(np.asarray(inputs["cu_seqlens_q_output"]).astype(np.int64))


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(KINDS, min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, prompt, decode = len(does), does == "prompt", does == "decode"
    inputs: dict[str, Any] = draw(draft_updates.steps(prompt, decode, rng))
    rows = np.where(decode, inputs["seq_lens_this_time"], np.where(prompt, 1, rng.integers(0, 3, bsz)))
    ends = wide_ids(rng, draw(edges.sizes(0, 129, usual=3)))
    tokens = wide_ids(rng, int(rows.sum()) + draw(st.integers(0, 3)))
    if len(ends):
        tokens = np.where(rng.random(len(tokens)) < 0.3, rng.choice(ends, len(tokens)), tokens)
    else:
        inputs["max_dec_len"] = np.full(bsz, INT64.max)
    return Sample(
        {
            **inputs,
            "inter_next_tokens": tokens,
            "cu_seqlens_q_output": prefix_sum(rows),
            "stop_flags": does == "stopped",
            "end_ids": ends,
            "prefill_one_step_stop": draw(st.sampled_from([False, False, False, True])),
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in rows that are not stopped, or anything at all in every row."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    live, enc = ~inputs["stop_flags"], inputs["seq_lens_encoder"]
    decode = live & (enc <= 0)
    sums, sampled = inputs["cu_seqlens_q_output"], len(inputs["inter_next_tokens"])

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, draft_updates.VECTORS, draw(edges.seeds()))
        return wild | put(inputs, "stop_flags", 0, 0) | put(wild, "seq_lens_this_time", 0, INT32.min)

    def shifted(slot: int) -> dict[str, Any]:
        moved = sums.copy()
        moved[slot : slot + 2] += draw(st.sampled_from([-1 - int(sums[slot]), sampled + 1 - int(sums[slot + 1])]))
        return {"cu_seqlens_q_output": moved}

    def endless(slot: int) -> dict[str, Any]:
        none = {"end_ids": inputs["end_ids"][:0], "prefill_one_step_stop": False}
        return none | put(inputs, "max_dec_len", slot, draw(st.sampled_from([0, INT64.min])))

    faults = draft_updates.faults(inputs, live & (enc > 0), decode, decode)
    faults += [
        (np.ones(1, bool), chaos),
        (live, shifted),
        (live, endless),
        (live, lambda slot: put(inputs, "seq_lens_this_time", slot, 0)),
        (live, lambda slot: put(inputs, "cu_seqlens_q_output", slot, draw(st.sampled_from([*edges.INT32, 10**6])))),
        (live, lambda slot: put(inputs, "cu_seqlens_q_output", slot + 1, int(sums[slot + 1]) + 1)),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other lengths, steps and limits of stopped rows, other tokens that are not a row's last, another max_seq_len."""
    stopped = np.asarray(inputs["stop_flags"])
    changed: dict[str, Any] = {"max_seq_len": int(rng.integers(0, 9000))}
    for name in ("seq_lens_this_time", "seq_lens_encoder", "max_dec_len"):
        old = np.asarray(inputs[name])
        changed[name] = fill(~stopped, old, noise(inputs, [name], rng)[name], old.dtype.type)
    tokens, ends = np.asarray(inputs["inter_next_tokens"]), np.asarray(inputs["cu_seqlens_q_output"])[1:]
    last = np.zeros(len(tokens), bool)
    last[ends[~stopped] - 1] = True
    changed["inter_next_tokens"] = np.where(last, tokens, wide_ids(rng, len(tokens)))
    return changed


def _more_tokens(sample: Sample, extra: int) -> Sample:
    tokens = np.concatenate([np.asarray(sample.inputs["inter_next_tokens"]), np.arange(extra)])
    return replace(sample, inputs={**sample.inputs, "inter_next_tokens": tokens})


def _all_end(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """To stop in any case is to hold every token for an end token."""
    if not sample.inputs["prefill_one_step_stop"]:
        return None
    ends = np.concatenate([np.asarray(sample.inputs["end_ids"]), np.asarray(sample.inputs["inter_next_tokens"])])
    return replace(sample, inputs={**sample.inputs, "end_ids": ends, "prefill_one_step_stop": False})


def _states(inputs: Arrays) -> Arrays:
    """Flags and lengths, worked out for all slots at once."""
    given = {name: np.asarray(value) for name, value in inputs.items()}
    live, prompt = ~given["stop_flags"], given["seq_lens_encoder"] > 0
    now = np.where(prompt, 1, given["seq_lens_this_time"])
    step = np.where(live, given["step_idx"], 0) + np.where(live, now, 0)
    added = np.where(prompt, given["seq_lens_encoder"], given["seq_lens_this_time"])
    last = np.where(live, given["cu_seqlens_q_output"][1:] - 1, 0)
    sampled = np.concatenate([given["inter_next_tokens"], [0]])[last]
    ended = np.isin(sampled, given["end_ids"]) | given["prefill_one_step_stop"]
    stops = ~live | ended | (step >= given["max_dec_len"])
    return {
        "not_need_stop": np.array([not stops.all()]),
        "stop_flags": stops,
        "seq_lens_this_time": (~stops).astype(np.int32),
        "seq_lens_encoder": 0 * given["seq_lens_encoder"],
        "seq_lens_decoder": (given["seq_lens_decoder"] + np.where(live, added, 0)).astype(np.int32),
        "step_idx": np.where(live, step, given["step_idx"]),
    }


def _none(inputs: Arrays) -> np.ndarray:
    return np.zeros(len(np.asarray(inputs["stop_flags"])), bool)


LAYOUT: Layout = {
    **{name: PerSlot() for name in draft_updates.VECTORS},
    "inter_next_tokens": Packed(_rows),
    "draft_tokens": PerSlot(idle=-1),
    "pre_ids": PerSlot(),
    "cu_seqlens_q_output": Prefix(),
    "stop_flags": PerSlot(idle=1),
    "not_need_stop": Whole(),
    "base_model_draft_tokens": PerSlot(idle=-1),
}

RELATIONS = (
    permute_slots(LAYOUT, "stop_flags"),
    insert_idle_slots(LAYOUT, "stop_flags"),
    grow("more sampled tokens", _more_tokens, {}),
    unread("other values where nothing is read", _unread),
    wider_rows({"base_model_draft_tokens": _none}, ("draft_tokens", "pre_ids")),
    Relation("one step is every token an end", _all_end, lambda sample, outputs, rng: outputs),
    agrees("states of all slots at once", _states),
)


def workload(batch: Batch) -> dict[str, Any]:
    return draft_workloads.sampled(batch, int(batch.rows.sum())) | {"prefill_one_step_stop": False}


WORKLOADS = index_op(workload)
