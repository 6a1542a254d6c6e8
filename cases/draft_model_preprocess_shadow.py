"""Inputs of draft_model_preprocess_shadow: rows that start, go on, have stopped, or are too near their limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import draft_rounds, draft_workloads, edges
from opgold.cases.draft_rows import (
    INT32,
    INT64,
    anything,
    beside,
    between,
    cut,
    fill,
    kinds,
    noise,
    put,
    wide_ids,
    wider_rows,
    with_fault,
)
from opgold.cases.relations import Arrays, Layout, PerSlot, Whole, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op

KINDS = ("prompt", "decode", "decode", "stopped", "near limit")
VECTORS = [
    "seq_lens_this_time",
    "seq_lens_encoder",
    "seq_lens_decoder",
    "step_idx",
    "accept_num",
    "target_model_seq_lens_decoder",
    "target_model_step_idx",
    "max_dec_len",
]


def live_rows(inputs: Arrays) -> np.ndarray:
    """bool [bsz]."""
    steps, limits = np.asarray(inputs["target_model_step_idx"]), np.asarray(inputs["max_dec_len"])
    rounds = int(inputs["num_model_step"])
    near = [int(step) + rounds >= int(limit) for step, limit in zip(steps, limits, strict=True)]
    runs = inputs["is_splitwise_prefill"] | ~np.array(near, bool)
    return np.asarray(runs & ~np.asarray(inputs["target_model_stop_flags"]))


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(KINDS, min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, prompt, decode, near = len(does), does == "prompt", does == "decode", does == "near limit"
    inputs: dict[str, Any] = draw(draft_rounds.rounds(prompt, decode, rng, base="target_model", appended=0))
    splitwise, rounds = draw(st.booleans()), draw(edges.sizes(1, 40, usual=4))
    steps = inputs["target_model_step_idx"].copy()
    if not splitwise:
        inputs["target_model_stop_flags"][near] = False
        steps[near & (steps < 0)] = INT64.max - rounds + 1  # with the round past int64
    last = np.minimum(steps, INT64.max - rounds) + rounds
    lowest = np.where(rng.random(bsz) < 0.2, np.full(bsz, INT64.min), last - 2)
    live = between(rng, last + 1, np.minimum(last, 2**40) + 9)
    limits = np.where(near, between(rng, lowest, last), np.where(does == "stopped", anything(rng, bsz, INT64), live))
    inputs |= {"target_model_step_idx": steps, "max_dec_len": anything(rng, bsz, INT64) if splitwise else limits}
    return Sample({**inputs, "num_model_step": rounds, "is_splitwise_prefill": splitwise})


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in rows that are not skipped, or anything at all in every row."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    live, enc = live_rows(inputs), np.asarray(inputs["seq_lens_encoder"])
    prompt, decode, once = live & (enc > 0), live & (enc <= 0), np.ones(1, bool)

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, VECTORS, draw(edges.seeds()))
        wild |= put(inputs, "target_model_stop_flags", 0, 0) | put(wild, "seq_lens_encoder", 0, INT32.max)
        return wild | put(wild, "max_dec_len", 0, INT64.max) | put(wild, "target_model_step_idx", 0, 0)

    faults = draft_rounds.faults(inputs, prompt, decode, base="target_model", appended=0)
    if not inputs["is_splitwise_prefill"]:  # there a step past the history, or below 0, may skip the row
        distant = np.where(live, INT64.max, inputs["max_dec_len"])
        faults = [(rows, beside({"max_dec_len": distant}, fault)) for rows, fault in faults]
        del faults[-2]  # the step INT64.max reaches every limit
    faults += [
        (once, chaos),
        (once, lambda _: {"num_model_step": draw(st.sampled_from([0, -1, 2**31]))}),
        (prompt, lambda _: cut(inputs, "pre_ids", 0)),
        (prompt, lambda slot: put(inputs, "target_model_step_idx", slot, draw(st.sampled_from([-1, -5])))),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Another state before the round, and other values in what skipped and prompt rows do not look at."""
    live, enc = live_rows(inputs), np.asarray(inputs["seq_lens_encoder"])
    bsz, decode = len(live), live & (enc <= 0)
    changed = noise(inputs, ["seq_lens_this_time", "step_idx", "target_model_seq_lens_encoder"], rng)
    for name in ("accept_num", "target_model_seq_lens_decoder"):
        changed[name] = fill(decode, np.asarray(inputs[name]), anything(rng, bsz))
    dec = np.asarray(inputs["seq_lens_decoder"])
    changed["seq_lens_decoder"] = fill(live & ~decode, dec, anything(rng, bsz))
    tokens = np.asarray(inputs["accept_tokens"])
    used = np.where(decode, inputs["accept_num"], np.where(live, 1, 0))[:, None]
    changed["accept_tokens"] = np.where(np.arange(tokens.shape[1]) < used, tokens, wide_ids(rng, *tokens.shape))
    return changed


def _states(inputs: Arrays) -> Arrays:
    """Flags, lengths and steps, worked out for all slots at once."""
    given = {name: np.asarray(value) for name, value in inputs.items()}
    live, enc, accepted = live_rows(inputs), given["seq_lens_encoder"], given["accept_num"].astype(np.int64)
    prompt, decode = live & (enc > 0), live & (enc <= 0)
    cached = np.where(decode, given["target_model_seq_lens_decoder"] - accepted, given["seq_lens_decoder"])
    step = np.where(live, given["target_model_step_idx"], 1) - np.where(decode, accepted, 1)
    return {
        "not_need_stop": np.array([live.any()]),
        "stop_flags": ~live,
        "seq_lens_this_time": fill(live, np.where(prompt, enc, accepted), 0 * enc),
        "seq_lens_encoder": fill(live, enc, 0 * enc),
        "seq_lens_decoder": fill(live, cached, 0 * enc),
        "step_idx": step,
    }


def _cleared(inputs: Arrays) -> np.ndarray:
    rows = np.asarray(inputs["target_model_draft_tokens"])
    return np.full(len(rows), rows.shape[1] > 0)


LAYOUT: Layout = {
    **{name: PerSlot() for name in (*VECTORS, "target_model_seq_lens_encoder")},
    **{name: PerSlot() for name in ("draft_tokens", "input_ids", "pre_ids", "accept_tokens")},
    "stop_flags": PerSlot(idle=1),
    "target_model_stop_flags": PerSlot(idle=1),
    "target_model_draft_tokens": PerSlot(idle=-1),
    "not_need_stop": Whole(),
}

RELATIONS = (
    permute_slots(LAYOUT, "accept_num"),
    insert_idle_slots(LAYOUT, "accept_num"),
    unread("other values where nothing is read", _unread),
    wider_rows({"target_model_draft_tokens": _cleared}, ("draft_tokens", "input_ids", "pre_ids", "accept_tokens")),
    agrees("states of all slots at once", _states),
)


def workload(batch: Batch) -> dict[str, Any]:
    return draft_workloads.accepted(batch, "target_model") | {
        "max_dec_len": np.full(SLOTS, 10_000, np.int64),
        "is_splitwise_prefill": False,
    }


WORKLOADS = index_op(workload)
