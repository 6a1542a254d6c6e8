"""Inputs of speculate_get_seq_lens_output: the lengths of mixed batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.packing import encoder_lengths
from opgold.cases.relations import Arrays, Layout, PerSlot, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, STRANGE, batches
from opgold.cases.workload import Batch, index_op


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches((*ORDINARY, *STRANGE), min_slots=min_slots))
    encoder = draw(encoder_lengths(batch))
    return Sample({"seq_lens_this_time": batch.this, "seq_lens_encoder": encoder, "seq_lens_decoder": batch.dec})


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """A negative length."""
    sample = draw(samples(min_slots=1))
    name = draw(st.sampled_from(["seq_lens_this_time", "seq_lens_encoder"]))
    lengths = np.asarray(sample.inputs[name]).copy()
    lengths[draw(st.integers(0, len(lengths) - 1))] = draw(st.sampled_from([-1, edges.INT32[0]]))
    return replace(sample, inputs={**sample.inputs, name: lengths})


LAYOUT: Layout = {
    "seq_lens_this_time": PerSlot(),
    "seq_lens_encoder": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "seq_lens_output": PerSlot(),
}


def _other_prompts(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Encoder lengths of other sizes, none of them to or from 0, and any decoder lengths."""
    encoder = np.asarray(inputs["seq_lens_encoder"])
    other = rng.integers(1, 2**31, (2, len(encoder))).astype(np.int32)
    return {"seq_lens_encoder": np.where(encoder > 0, other[0], 0).astype(np.int32), "seq_lens_decoder": other[1]}


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    unread("other encoder and decoder lengths", _other_prompts),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {"seq_lens_this_time": batch.this, "seq_lens_encoder": batch.enc, "seq_lens_decoder": batch.dec}


WORKLOADS = index_op(workload)
