"""Inputs of draft_model_set_value_by_flags: rows that run at any step, idle and stopped rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import draft_workloads, edges
from opgold.cases.draft_rows import (
    INT32,
    INT64,
    anything,
    between,
    cut,
    flags,
    kinds,
    noise,
    put,
    wide_ids,
    wider_rows,
    with_fault,
)
from opgold.cases.relations import Arrays, Layout, PerSlot, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import Batch, index_op


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(("running", "running", "first", "early", "idle", "stopped"), min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, running, first, early = len(does), does == "running", does == "first", does == "early"
    drafts, history = draw(edges.sizes(1, 129)), draw(edges.sizes(3, 257))
    zeros = np.zeros(bsz, np.int64)
    step = between(rng, zeros + 2, zeros + history - 1)
    this = between(rng, zeros + 1, np.minimum(step + 1, drafts))
    any_step = anything(rng, bsz, INT64)
    step = np.where(running, step, np.where(first, 1, np.where(early, np.minimum(any_step, 0), any_step)))
    some = np.where(flags(rng, bsz), rng.integers(1, 9, bsz), INT32.max)  # how many does not matter there
    this = np.where(running, this, np.where(first | early, some, np.where(does == "idle", 0, anything(rng, bsz))))
    return Sample(
        {
            "draft_tokens": wide_ids(rng, bsz, drafts),
            "pre_ids_all": wide_ids(rng, bsz, history),
            "stop_flags": (does == "stopped") | ((does == "idle") & flags(rng, bsz)),
            "seq_lens_this_time": this.astype(np.int32),
            "seq_lens_encoder": anything(rng, bsz).astype(np.int32),
            "seq_lens_decoder": anything(rng, bsz).astype(np.int32),
            "step_idx": step,
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """More tokens than the draft row or the history's begin holds, steps past the history, or anything at all."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    this, step = inputs["seq_lens_this_time"], inputs["step_idx"]
    acts = (this != 0) & ~inputs["stop_flags"]
    later, drafts, history = acts & (step > 1), inputs["draft_tokens"].shape[1], inputs["pre_ids_all"].shape[1]

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, ["seq_lens_this_time", "step_idx"], draw(edges.seeds()))
        return wild | put(inputs, "stop_flags", 0, 0) | put(wild, "seq_lens_this_time", 0, INT32.min)

    def before_the_row(slot: int) -> dict[str, Any]:
        longer = np.concatenate([inputs["draft_tokens"], inputs["pre_ids_all"]], axis=1)
        return {"draft_tokens": longer} | put(inputs, "seq_lens_this_time", slot, int(step[slot]) + 2)

    faults = [
        (np.ones(1, bool), chaos),
        (later, before_the_row),
        (later, lambda slot: put(inputs, "seq_lens_this_time", slot, draw(st.sampled_from([drafts + 1, INT32.max])))),
        (acts, lambda slot: put(inputs, "seq_lens_this_time", slot, draw(st.sampled_from(edges.INT32[:2])))),
        (acts, lambda slot: put(inputs, "step_idx", slot, draw(st.sampled_from([history, INT64.max])))),
        (acts & (step == 1), lambda _: cut(inputs, "draft_tokens", 0)),
        (acts & (step == 1), lambda _: cut(inputs, "pre_ids_all", draw(st.integers(0, 1)))),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other encoder and decoder lengths, steps of rows that do not run, draft tokens behind those of a row."""
    this, step = np.asarray(inputs["seq_lens_this_time"]), np.asarray(inputs["step_idx"])
    acts = (this != 0) & ~np.asarray(inputs["stop_flags"])
    tokens = np.asarray(inputs["draft_tokens"])
    used = np.where(acts & (step > 1), this, np.where(acts & (step == 1), 1, 0))[:, None]
    return {
        **noise(inputs, ["seq_lens_encoder", "seq_lens_decoder"], rng),
        "step_idx": np.where(acts, step, noise(inputs, ["step_idx"], rng)["step_idx"]),
        "draft_tokens": np.where(np.arange(tokens.shape[1]) < used, tokens, wide_ids(rng, *tokens.shape)),
    }


LAYOUT: Layout = {
    name: PerSlot()
    for name in (
        "draft_tokens",
        "pre_ids_all",
        "stop_flags",
        "seq_lens_this_time",
        "seq_lens_encoder",
        "seq_lens_decoder",
        "step_idx",
    )
}

RELATIONS = (
    permute_slots(LAYOUT, "stop_flags"),
    insert_idle_slots(LAYOUT, "stop_flags"),
    unread("other values where nothing is read", _unread),
    wider_rows({}, ("draft_tokens", "pre_ids_all")),
)


def workload(batch: Batch) -> dict[str, Any]:
    inputs = draft_workloads.rows(batch)
    inputs["seq_lens_this_time"] = batch.rows  # of a draft row: a prompt has one
    inputs["pre_ids_all"] = inputs.pop("pre_ids")
    inputs.pop("not_need_stop")
    return inputs


WORKLOADS = index_op(workload)
