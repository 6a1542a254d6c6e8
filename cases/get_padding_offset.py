"""Inputs of get_padding_offset: mixed batches, with and without drafts, capacity at and above the need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.packing import (
    ENCODER_BY_SIGN,
    LONGEST_PROMPT,
    UNREAD_CELLS,
    capacities,
    drafting,
    encoder_lengths,
    more_capacity,
    token_rows,
    with_wrong_length,
)
from opgold.cases.relations import Arrays, Layout, Packed, PerSlot, Prefix, grow, insert_idle_slots, permute_slots
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, STRANGE, batches
from opgold.cases.workload import PREFILL, SLOTS, Batch, index_op


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches((*ORDINARY, *STRANGE), max_prompt=LONGEST_PROMPT, min_slots=min_slots))
    drafts = draw(st.sampled_from(["none", "empty", "given", "given"]))
    width = {"none": None, "empty": 0, "given": batch.longest_decode + draw(st.integers(0, 2))}[drafts]
    inputs: dict[str, Any] = {"seq_len": batch.this, **draw(token_rows(batch, width))}
    if width or draw(st.booleans()):
        inputs["seq_lens_encoder"] = draw(encoder_lengths(batch))
    if draw(st.booleans()):
        inputs["seq_lens_decoder"] = batch.dec
    inputs["cpu_token_num"] = draw(capacities(batch.tokens))
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: too little capacity, slots longer than their row, negative lengths, huge sums."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    tokens = int(inputs["seq_len"].sum())
    faults = ["length", "sum"] + ["capacity"] * (tokens > 0) + ["cached"] * ("seq_lens_decoder" in inputs)
    if drafting(inputs).any():
        faults += ["encoder", "no encoder"]
    fault = draw(st.sampled_from(faults))
    if fault == "capacity":
        inputs["cpu_token_num"] = draw(st.integers(0, tokens - 1))
    elif fault == "length":
        inputs = draw(with_wrong_length(inputs, "seq_len"))
        inputs["cpu_token_num"] += draw(st.integers(0, 2))
    elif fault == "sum":
        inputs["seq_lens_decoder"] = np.full_like(inputs["seq_len"], edges.INT32[2])
        inputs["seq_len"] = np.minimum(inputs["seq_len"], 1)
        inputs["seq_len"][0] = 1
        inputs["input_ids"] = np.pad(inputs["input_ids"], ((0, 0), (0, 1)))
        inputs["cpu_token_num"] += 1
    elif fault == "no encoder":
        del inputs["seq_lens_encoder"]
    else:
        inputs = draw(with_wrong_length(inputs, "seq_lens_encoder" if fault == "encoder" else "seq_lens_decoder"))
    return replace(sample, inputs=inputs)


def _lengths(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["seq_len"])


LAYOUT: Layout = {
    "input_ids": PerSlot(),
    "seq_len": PerSlot(),
    "draft_tokens": PerSlot(),
    "seq_lens_encoder": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "x_remove_padding": Packed(_lengths),
    "batch_id_per_token": Packed(_lengths, slot_ids=True),
    "cu_seqlens_q": Prefix(),
    "cu_seqlens_k": Prefix(),
}


RELATIONS = (
    permute_slots(LAYOUT, "seq_len"),
    insert_idle_slots(LAYOUT, "seq_len"),
    grow("grow capacity", more_capacity, {"x_remove_padding": 2, "batch_id_per_token": -1}),
    UNREAD_CELLS,
    ENCODER_BY_SIGN,
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "input_ids": batch.ids(SLOTS, PREFILL),
        "seq_len": batch.this,
        "draft_tokens": batch.ids(SLOTS, batch.drafts),
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "cpu_token_num": batch.tokens,
    }


WORKLOADS = index_op(workload)
