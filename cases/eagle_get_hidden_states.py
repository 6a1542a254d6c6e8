"""Inputs of eagle_get_hidden_states: prompt chunks, slots with all, some or no drafts accepted, and skipped ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.hidden import DTYPES, columns_permuted, more_rows, other_values, surplus, widths, with_value
from opgold.cases.relations import Arrays, Layout, Packed, PerSlot, Whole, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import LIVE, State, batches
from opgold.cases.workload import SLOTS, Batch, row_op


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    """Of the slots that the target has run, some have stopped the draft model or were never given to it."""
    batch = draw(batches((State.IDLE, State.STOPPED, *LIVE, State.DECODE), min_slots=min_slots))
    rng = draw(edges.seeds())
    verified = np.where(batch.enc > 0, rng.integers(0, 9, batch.bsz), batch.this)  # not looked at for a prompt chunk
    accepted = draw(st.sampled_from([verified, np.minimum(1, verified), rng.integers(0, verified + 1)]))
    skipped = (rng.random(batch.bsz) < draw(st.sampled_from([0, 0.3]))) | ((batch.enc == 0) & (verified == 0))
    held = skipped & (rng.random(batch.bsz) < draw(st.sampled_from([0, 0, 0.5]))) & (verified == 0)  # runs, none kept
    drafting = np.where(skipped & ~held, 0, np.where(accepted > 0, accepted, 1))
    accepted = np.where(held, 0, accepted)
    anything = rng.integers(-(2**31), 2**31, (4, batch.bsz))
    free = (batch.enc > 0) | (drafting == 0)
    inputs: dict[str, Any] = {
        "seq_lens_this_time": drafting.astype(np.int32),
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": anything[0].astype(np.int32),
        "stop_flags": anything[1] > 0,
        "accept_num": np.where(free, anything[2], accepted).astype(np.int32),
        "base_model_seq_lens_this_time": verified.astype(np.int32),
        "base_model_seq_lens_encoder": anything[3].astype(np.int32),
        "actual_draft_token_num": draw(st.integers(0, 6)),
    }
    tokens, rows = int(consumed(inputs).sum()) + draw(surplus()), int(kept(inputs).sum()) + draw(surplus())
    dtype, width = draw(st.sampled_from(DTYPES)), draw(widths(tokens + rows))
    inputs["input"] = payload.hidden(rng, dtype, tokens, width)
    inputs["out"] = payload.hidden(rng, dtype, rows, width)
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: negative lengths, more accepted than run, too few rows on either side."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    drafting = np.flatnonzero((inputs["seq_lens_encoder"] == 0) & (inputs["seq_lens_this_time"] > 0))
    slot = draw(st.integers(0, len(inputs["stop_flags"]) - 1))
    faults = ["length", "huge"] + ["accepted"] * 2 * bool(len(drafting))
    faults += ["input"] * bool(consumed(inputs).sum()) + ["out"] * bool(kept(inputs).sum())
    fault = draw(st.sampled_from(faults))
    if fault == "length":
        name = draw(st.sampled_from(["seq_lens_this_time", "seq_lens_encoder", "base_model_seq_lens_this_time"]))
        inputs = draw(with_value(inputs, name, slot, list(edges.INT32[:2])))
    elif fault == "huge":
        inputs = draw(with_value(inputs, "seq_lens_encoder", slot, [len(inputs["input"]) + 1, 10_000, edges.INT32[2]]))
        if draw(st.booleans()):
            inputs["seq_lens_encoder"] = np.full_like(inputs["seq_lens_encoder"], edges.INT32[2])
    elif fault == "accepted":
        slot = int(draw(st.sampled_from(list(drafting))))
        run = int(inputs["base_model_seq_lens_this_time"][slot])
        inputs = draw(with_value(inputs, "accept_num", slot, [run + 1, run + 1000, *edges.INT32]))
    else:
        need = int((consumed if fault == "input" else kept)(inputs).sum())
        inputs[fault] = inputs[fault][: draw(st.integers(0, need - 1))]
    return replace(sample, inputs=inputs)


def consumed(inputs: Arrays) -> np.ndarray:
    """Rows of `input` of each slot."""
    prompt = np.asarray(inputs["seq_lens_encoder"])
    return np.where(prompt > 0, prompt, inputs["base_model_seq_lens_this_time"])


def kept(inputs: Arrays) -> np.ndarray:
    """Rows of `out` of each slot."""
    decode = np.where(inputs["seq_lens_this_time"] > 0, inputs["accept_num"], 0)
    return np.where(inputs["seq_lens_encoder"] > 0, inputs["seq_lens_encoder"], decode)


LAYOUT: Layout = {
    "input": Packed(consumed),
    "seq_lens_this_time": PerSlot(),
    "seq_lens_encoder": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "stop_flags": PerSlot(),
    "accept_num": PerSlot(),
    "base_model_seq_lens_this_time": PerSlot(),
    "base_model_seq_lens_encoder": PerSlot(),
    "out": Packed(kept),
    "output_token_num": Whole(),
}


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    more_rows("input", "out"),
    columns_permuted(),
    unread("other unused lengths", other_values("seq_lens_decoder", "stop_flags", "base_model_seq_lens_encoder")),
)


def workload(batch: Batch) -> dict[str, Any]:
    """All rows accepted."""
    none = np.zeros(SLOTS, np.int32)
    return {
        "input": batch.hidden,
        "seq_lens_this_time": batch.this,
        "seq_lens_encoder": none,
        "seq_lens_decoder": batch.dec,
        "stop_flags": np.zeros(SLOTS, bool),
        "accept_num": batch.this,
        "base_model_seq_lens_this_time": batch.this,
        "base_model_seq_lens_encoder": none,
        "actual_draft_token_num": batch.drafts,
        "out": np.zeros_like(batch.hidden),
    }


WORKLOADS = row_op(workload)
