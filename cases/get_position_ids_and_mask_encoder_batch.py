"""Inputs of get_position_ids_and_mask_encoder_batch: mixed batches, entries behind the last token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.hidden import more_rows, surplus, with_value
from opgold.cases.relations import Arrays, Layout, Packed, PerSlot, agrees, insert_idle_slots, permute_slots
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, batches
from opgold.cases.workload import Batch, index_op


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches(ORDINARY, max_prompt=1025, min_slots=min_slots))
    rng = draw(edges.seeds())
    last = 2**31 - np.maximum(batch.this, 1).astype(np.int64)  # the highest position goes to the last token
    cached = np.where((batch.dec > 0) & (rng.random(batch.bsz) < 0.1), last, batch.dec)
    tokens = batch.tokens + draw(surplus())
    inputs: dict[str, Any] = {
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": cached.astype(np.int32),
        "seq_lens_this_time": batch.this,
        "position_ids": rng.integers(-(2**31), 2**31, tokens).astype(np.int32),
    }
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: negative or huge lengths, ghosts, held prompts, too few entries, high positions."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    this = inputs["seq_lens_this_time"]
    slot = draw(st.integers(0, len(this) - 1))
    fault = draw(st.sampled_from(["length", "ghost", "held", "longer", "position"] + ["entries"] * bool(this.any())))
    if fault == "length":
        name = draw(st.sampled_from(["seq_lens_encoder", "seq_lens_decoder", "seq_lens_this_time"]))
        inputs = draw(with_value(inputs, name, slot, list(edges.INT32[:2])))
    elif fault == "entries":
        inputs["position_ids"] = inputs["position_ids"][: draw(st.integers(0, int(this.sum()) - 1))]
    elif fault == "position":
        inputs = draw(with_value(inputs, "seq_lens_decoder", slot, [2**31 - 1]))
        inputs["seq_lens_encoder"] = inputs["seq_lens_encoder"] * (np.arange(len(this)) != slot)
        inputs["seq_lens_encoder"] = inputs["seq_lens_encoder"].astype(np.int32)
        inputs["seq_lens_this_time"] = np.where(np.arange(len(this)) == slot, 2, this).astype(np.int32)
        inputs["position_ids"] = np.append(inputs["position_ids"], [7, 7]).astype(np.int32)
    else:
        enc, dec, now = {"ghost": (0, 0, 1), "held": (2, 0, 0), "longer": (2**31 - 1, 0, 1)}[fault]
        inputs = draw(with_value(inputs, "seq_lens_encoder", slot, [enc]))
        inputs = draw(with_value(inputs, "seq_lens_decoder", slot, [dec]))
        inputs = draw(with_value(inputs, "seq_lens_this_time", slot, [now]))
        inputs["position_ids"] = np.append(inputs["position_ids"], [7, 7]).astype(np.int32)
    return replace(sample, inputs=inputs)


def _tokens(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["seq_lens_this_time"])


def _running_numbers(inputs: Arrays) -> Arrays:
    """A packed token's number in its batch, less that of its slot's first token, plus the slot's cached tokens."""
    this, positions = _tokens(inputs), np.array(inputs["position_ids"])
    shift = np.asarray(inputs["seq_lens_decoder"]).astype(np.int64) - (np.cumsum(this) - this)
    numbers = np.arange(this.sum()) + np.repeat(shift, this)
    positions[: len(numbers)] = numbers
    return {"position_ids": positions}


LAYOUT: Layout = {
    "seq_lens_encoder": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "seq_lens_this_time": PerSlot(),
    "position_ids": Packed(_tokens),
}

RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    more_rows("position_ids", "position_ids"),
    agrees("running numbers", _running_numbers),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "seq_lens_this_time": batch.this,
        "position_ids": np.zeros(batch.tokens, np.int32),
    }


WORKLOADS = index_op(workload)
