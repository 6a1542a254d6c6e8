"""Inputs of unified_update_model_status: stops by token and by length, histories at their row's end, paused slots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import (
    INT32,
    INT64,
    anything,
    between,
    fill,
    flags,
    kinds,
    noise,
    put,
    wide_ids,
    with_fault,
)
from opgold.cases.relations import Arrays, Layout, Relation, Whole, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.step_slots import THIS, Slots, more_slots, too_many_slots, wrong_values
from opgold.cases.workload import SLOTS, Batch, index_op

KINDS = ("decode", "decode", "decode", "prompt", "chunk", "fresh", "stopped", "paused", "paused and stopped")
BEHIND = ("stopped", "stopped", "paused", "decode")
VECTORS = (
    "seq_lens_encoder",
    "seq_lens_decoder",
    "step_output_len",
    "prompt_lens",
    "step_idx",
    "max_dec_len",
)
ROWS = ("step_input_ids", "step_output_ids", "token_ids_all")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    ahead = draw(kinds(KINDS, min_slots=min_slots))
    behind = draw(st.one_of(st.just([]), st.lists(st.sampled_from(BEHIND), max_size=5)))
    does, rng = np.concatenate([ahead, np.array(behind, "U20")]), draw(edges.seeds())
    slots, zeros = len(does), np.zeros(len(does), np.int64)
    live = np.isin(does, KINDS[:6])
    width = draw(edges.sizes(0, 129 if slots < 40 else 9, usual=8))
    columns = draw(edges.sizes(0, 257 if slots < 40 else 33, usual=24))
    run = between(rng, zeros, zeros + width)
    step = np.where(flags(rng, slots, 0.1), INT64.max - run, rng.integers(0, 2 * columns + 2, slots))
    ends = wide_ids(rng, draw(edges.sizes(0, 129, usual=3)))
    limit = step + np.where(flags(rng, slots), between(rng, zeros - 1, run + 1), 1000)
    limit = np.where(flags(rng, slots, 0.1), anything(rng, slots, INT64), np.where(step > INT32.max, INT64.max, limit))
    tokens = wide_ids(rng, slots, width)
    if len(ends):
        tokens = np.where(rng.random(tokens.shape) < 0.15, rng.choice(ends, tokens.shape), tokens)
    else:
        step, limit = np.minimum(step, 9), np.full(slots, INT64.max)
    at_end = np.maximum(0, columns - np.minimum(step, columns) - run + rng.integers(-2, 3, slots))
    prompt = np.where(flags(rng, slots), at_end, rng.integers(0, columns + 2, slots))
    prompt = np.where(flags(rng, slots, 0.05), INT64.max, prompt)
    enc = np.where(np.isin(does, ("prompt", "chunk")), rng.integers(1, 9, slots), 0)
    dec = np.where(np.isin(does, ("decode", "chunk")), rng.integers(1, 9, slots), 0)
    dec = np.where((dec > 0) & flags(rng, slots, 0.2), INT32.max - np.where(enc > 0, enc, run), dec)
    return Sample(
        {
            "seq_lens_encoder": fill(live, enc, anything(rng, slots)),
            "seq_lens_decoder": fill(live, dec, anything(rng, slots)),
            "has_running_seqs": flags(rng, 1),
            "step_input_ids": wide_ids(rng, slots, width),
            "step_output_ids": tokens,
            "step_output_len": fill(live, run, anything(rng, slots)),
            "stop_flags": np.isin(does, ("stopped", "paused and stopped")),
            "seq_lens_this_time": anything(rng, len(ahead)).astype(np.int32),
            "is_paused": np.isin(does, ("paused", "paused and stopped")),
            "token_ids_all": wide_ids(rng, slots, columns),
            "prompt_lens": fill(live, prompt, anything(rng, slots, INT64), np.int64),
            "step_idx": fill(live, step, anything(rng, slots, INT64), np.int64),
            "end_tokens": ends,
            "max_dec_len": limit,
            "history_layout": draw(st.sampled_from([0, 1])),
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Wrong values in running slots, anything at all in every slot, no end token, an unknown layout."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    live, run, once = _live(inputs), inputs["step_output_len"], np.ones(1, bool)
    width, slots = inputs["step_output_ids"].shape[1], len(inputs["stop_flags"])

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, VECTORS, draw(edges.seeds()))
        return wild | put(inputs, "stop_flags", 0, 0) | put(inputs, "is_paused", 0, 0) | put(wild, "step_idx", 0, -1)

    def endless(slot: int) -> dict[str, Any]:
        limit = draw(st.sampled_from([0, int(inputs["step_idx"][slot]) + int(run[slot])]))
        return {"end_tokens": inputs["end_tokens"][:0]} | put(inputs, "max_dec_len", slot, limit)

    faults = [
        (once, chaos),
        (once, lambda _: {"history_layout": draw(st.sampled_from([-1, 2, 2**40]))}),
        (once, lambda _: too_many_slots(inputs, slots)),
        (live & (run > 0), endless),
        (live & (run > 0), lambda slot: put(inputs, "step_idx", slot, INT64.max - int(run[slot]) + 1)),
        (
            live & ((inputs["seq_lens_encoder"] > 0) | (run > 0)),
            lambda slot: put(inputs, "seq_lens_decoder", slot, INT32.max),
        ),
        (live, lambda slot: put(inputs, "step_output_len", slot, draw(st.sampled_from([-1, width + 1, INT32.max])))),
    ]
    for name, limits in (
        ("seq_lens_encoder", INT32),
        ("seq_lens_decoder", INT32),
        ("prompt_lens", INT64),
        ("step_idx", INT64),
    ):
        faults += wrong_values(inputs, live, name, (-1, limits.min))
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _live(inputs: Arrays) -> np.ndarray:
    return np.asarray(~np.asarray(inputs["stop_flags"]) & ~np.asarray(inputs["is_paused"]))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other lengths, limits and prompts of slots that do not run, another flag."""
    live, bsz = _live(inputs), len(inputs[THIS])
    kept = live | (np.arange(len(live)) >= bsz)
    changed: dict[str, Any] = {"has_running_seqs": flags(rng, 1), **noise(inputs, [THIS], rng)}
    changed[THIS] = np.where(live[:bsz], inputs[THIS], changed[THIS])
    for name in ("seq_lens_encoder", "seq_lens_decoder", "step_output_len"):
        changed[name] = np.where(kept, inputs[name], noise(inputs, [name], rng)[name])
    for name in ("prompt_lens", "max_dec_len"):
        changed[name] = np.where(live, inputs[name], noise(inputs, [name], rng)[name])
    return changed


def _shifted(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """Layout 1 is layout 0 behind a prompt that is longer by one."""
    prompts = np.asarray(sample.inputs["prompt_lens"])
    if sample.inputs.get("history_layout", 0) == 0 or np.any(prompts == INT64.max):
        return None
    return replace(sample, inputs={**sample.inputs, "history_layout": 0, "prompt_lens": prompts + 1})


def _at_once(inputs: Arrays) -> Arrays:
    """All slots at once, each history cell asked for its token."""
    given = {name: np.asarray(value) for name, value in inputs.items()}
    live, ends, out = _live(inputs), given["end_tokens"], given["step_output_ids"]
    step, width, bsz = np.where(live, given["step_idx"], 0), out.shape[1], len(given[THIS])
    index = np.arange(width)
    taken = live[:, None] & (index < given["step_output_len"][:, None])
    ended = taken & np.isin(out, ends)
    full = taken & (np.where(taken, step[:, None] + index, -1) >= given["max_dec_len"][:, None] - 1)
    full |= taken & (given["max_dec_len"][:, None] == INT64.min)
    last = np.argmax(np.pad(ended | full, ((0, 0), (0, 1)), constant_values=True), axis=1)
    stops = last < width
    run = np.where(stops, last + 1, np.where(live, given["step_output_len"], 0)).astype(np.int64)
    replaced = (index == last[:, None]) & full & ~ended
    out = np.where(replaced, ends[0] if len(ends) else 0, out)

    columns = given["token_ids_all"].shape[1]
    begin = np.minimum(given["prompt_lens"], columns) + np.minimum(step, columns) + int(inputs.get("history_layout", 0))
    back = np.arange(columns) - begin[:, None]
    inside = live[:, None] & (back >= 0) & (back < run[:, None])
    padded = np.pad(out, ((0, 0), (0, 1)))
    written = np.take_along_axis(padded, np.where(inside, np.clip(back, 0, width), width), axis=1)
    inputs_after = given["step_input_ids"].copy()
    rows = np.flatnonzero(live & (run > 0))
    inputs_after[rows, :1] = out[rows, run[rows] - 1][:, None]
    enc, dec = given["seq_lens_encoder"].astype(np.int64), given["seq_lens_decoder"].astype(np.int64)
    dec = np.where(live, np.where(enc > 0, dec + enc, np.where(dec > 0, dec + run, 0)), dec)
    idle = ~live & (np.arange(len(live)) < bsz)
    return {
        "seq_lens_encoder": np.where(live | idle, 0, enc).astype(np.int32),
        "seq_lens_decoder": np.where(idle, 0, dec).astype(np.int32),
        "has_running_seqs": np.array([np.any(live & ~stops)]),
        "step_input_ids": inputs_after,
        "step_output_ids": out,
        "step_output_len": np.where(live, run, np.where(idle, 0, given["step_output_len"])).astype(np.int32),
        "stop_flags": given["stop_flags"] | stops | idle,
        THIS: np.where(idle[:bsz], 0, given[THIS]).astype(np.int32),
        "token_ids_all": np.where(inside, written, given["token_ids_all"]),
        "step_idx": np.where(live, step + run, given["step_idx"]),
    }


LAYOUT: Layout = {
    **{name: Slots() for name in (*VECTORS, *ROWS, THIS, "is_paused")},
    "stop_flags": Slots(idle=1),
    "has_running_seqs": Whole(),
    "end_tokens": Whole(),
}

RELATIONS = (
    permute_slots(LAYOUT, THIS),
    insert_idle_slots(LAYOUT, THIS),
    more_slots((*VECTORS, *ROWS, "is_paused", "stop_flags"), {"stop_flags": 1}),
    unread("other values of slots that do not run", _unread),
    Relation("layout 1 is a longer prompt", _shifted, lambda sample, outputs, rng: outputs),
    agrees("all slots at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    width = batch.drafts
    run = np.where(batch.enc > 0, 1, rng.integers(1, width + 1, SLOTS))
    return {
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "has_running_seqs": np.zeros(1, bool),
        "step_input_ids": batch.ids(SLOTS, width),
        "step_output_ids": batch.ids(SLOTS, width),
        "step_output_len": run.astype(np.int32),
        "stop_flags": np.zeros(SLOTS, bool),
        "seq_lens_this_time": batch.this,
        "is_paused": np.zeros(SLOTS, bool),
        "token_ids_all": batch.ids(SLOTS, 8192),
        "prompt_lens": rng.integers(100, 4000, SLOTS),
        "step_idx": rng.integers(0, 2000, SLOTS),
        "end_tokens": np.array([2, 100_001]),
        "max_dec_len": np.full(SLOTS, 8192),
    }


WORKLOADS = index_op(workload)
