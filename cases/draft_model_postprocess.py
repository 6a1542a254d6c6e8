"""Inputs of draft_model_postprocess: draft rows with holes, prompts, stopped rows, narrow and wide rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import INT32, anything, fill, flags, kinds, noise, put, wide_ids
from opgold.cases.relations import Arrays, Layout, PerSlot, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op

# numbers that are -1 in one half only
LOOKALIKES = np.array([2**32 - 1, -(2**32) + 5, -(2**32), -2, 0, 5], np.int64)


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(("drafted", "drafted", "prompt", "stopped"), min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, drafted = len(does), does == "drafted"
    rows = wide_ids(rng, bsz, draw(edges.sizes(0, 1025 if bsz < 40 else 40)))
    rows = np.where(flags(rng, rows.size).reshape(rows.shape), rows, rng.choice(LOOKALIKES, rows.shape))
    rows[(rng.random(rows.shape) < draw(st.sampled_from([0, 0.3, 0.9, 1.1])))] = -1
    prompts = rng.choice(np.array([1, 7, INT32.max]), bsz)
    return Sample(
        {
            "base_model_draft_tokens": rows,
            "base_model_seq_lens_this_time": anything(rng, bsz).astype(np.int32),
            "base_model_seq_lens_encoder": fill(does == "prompt", prompts, np.where(drafted, 0, anything(rng, bsz))),
            "base_model_stop_flags": does == "stopped",
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """A negative encoder length."""
    sample = draw(samples(min_slots=1))
    slot = draw(st.integers(0, len(sample.inputs["base_model_stop_flags"]) - 1))
    changed = put(sample.inputs, "base_model_seq_lens_encoder", slot, draw(st.sampled_from([-1, INT32.min])))
    return replace(sample, inputs={**sample.inputs, **changed, **put(sample.inputs, "base_model_stop_flags", slot, 0)})


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other lengths of rows that are counted, other drafts of rows that are not."""
    stopped, enc = (np.asarray(inputs[f"base_model_{name}"]) for name in ("stop_flags", "seq_lens_encoder"))
    counted, rows = ~stopped & (enc == 0), np.asarray(inputs["base_model_draft_tokens"])
    this, other = "base_model_seq_lens_this_time", wide_ids(rng, *rows.shape)
    return {
        this: np.where(~stopped & (enc > 0), inputs[this], noise(inputs, [this], rng)[this]).astype(np.int32),
        "base_model_seq_lens_encoder": fill(stopped, anything(rng, len(enc)), enc),
        "base_model_draft_tokens": np.where(counted[:, None], rng.permuted(rows, axis=1), other),
    }


def _counts(inputs: Arrays) -> Arrays:
    stopped, enc = (np.asarray(inputs[f"base_model_{name}"]) for name in ("stop_flags", "seq_lens_encoder"))
    counts = (np.asarray(inputs["base_model_draft_tokens"]) != -1).sum(axis=1)
    kept = np.where(enc > 0, inputs["base_model_seq_lens_this_time"], counts)
    return {"base_model_seq_lens_this_time": np.where(stopped, 0, kept).astype(np.int32)}


LAYOUT: Layout = {
    name: PerSlot()
    for name in (
        "base_model_draft_tokens",
        "base_model_seq_lens_this_time",
        "base_model_seq_lens_encoder",
        "base_model_stop_flags",
    )
} | {"base_model_draft_tokens": PerSlot(idle=-1)}

RELATIONS = (
    permute_slots(LAYOUT, "base_model_stop_flags"),
    insert_idle_slots(LAYOUT, "base_model_stop_flags"),
    unread("other values where nothing is read, and drafts in another order", _unread),
    agrees("counts of all slots at once", _counts),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "base_model_draft_tokens": batch.ids(SLOTS, max(batch.drafts, 1) + 1),
        "base_model_seq_lens_this_time": batch.this,
        "base_model_seq_lens_encoder": batch.enc,
        "base_model_stop_flags": np.zeros(SLOTS, bool),
    }


WORKLOADS = index_op(workload)
