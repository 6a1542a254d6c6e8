"""Inputs of update_attn_mask_offsets_stateless: mixed batches, every generation mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import attn_mask
from opgold.cases.relations import Arrays, Relation
from opgold.cases.sample import Sample
from opgold.cases.workload import index_op


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    inputs = draw(attn_mask.masks())
    if draw(st.integers(0, 4)) == 0:  # the longest context that int32 allows
        decoding = attn_mask.decodes(inputs)
        longest = attn_mask.INT32_MAX - inputs["seq_lens_this_time"]
        inputs["seq_lens_decoder"] = np.where(decoding, longest, inputs["seq_lens_decoder"]).astype(np.int32)
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: lengths and prefix sums that disagree, too few tokens or columns, int32 exceeded."""
    sample = draw(samples().filter(lambda s: len(np.asarray(s.inputs["seq_lens_this_time"])) > 0))
    slots = np.flatnonzero(attn_mask.decodes(sample.inputs) & (np.asarray(sample.inputs["seq_lens_this_time"]) > 0))
    if len(slots) == 0 or draw(st.integers(0, 4)):
        return replace(sample, inputs=draw(attn_mask.with_fault(sample.inputs)))
    inputs: dict[str, Any] = dict(sample.inputs)
    slot = slots[draw(st.integers(0, len(slots) - 1))]
    inputs["seq_lens_decoder"] = inputs["seq_lens_decoder"].copy()
    inputs["seq_lens_decoder"][slot] = attn_mask.INT32_MAX - int(inputs["seq_lens_this_time"][slot]) + 1
    return replace(sample, inputs=inputs)


def _longer_context() -> Relation:
    """`k` more cached tokens in every decode slot move its ends by `k`."""

    def by(rng: np.random.Generator) -> int:
        return int(rng.integers(1, 1000))

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        decoding, k = attn_mask.decodes(sample.inputs), by(rng)
        longest = np.asarray(sample.inputs["seq_lens_decoder"]).astype(np.int64) + sample.inputs["seq_lens_this_time"]
        if np.any(decoding & (longest > attn_mask.INT32_MAX - k)):
            return None
        longer = np.asarray(sample.inputs["seq_lens_decoder"]) + np.where(decoding, k, 0)
        return replace(sample, inputs={**sample.inputs, "seq_lens_decoder": longer.astype(np.int32)})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        moved = np.repeat(np.where(attn_mask.decodes(sample.inputs), by(rng), 0), sample.inputs["seq_lens_this_time"])
        ranges = np.array(outputs["attn_mask_offsets"])
        ranges[1 : 2 * len(moved) : 2] += moved.astype(np.int32)
        return {**outputs, "attn_mask_offsets": ranges}

    return Relation("a longer context moves the ends", transform, expect)


LAYOUT = attn_mask.LAYOUT
RELATIONS = (*attn_mask.RELATIONS, _longer_context())


WORKLOADS = index_op(attn_mask.workload, decode=3)
