"""Inputs of update_attn_mask_offsets: mixed batches, bases anywhere, rollbacks of either sign."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import attn_mask, edges
from opgold.cases.relations import Arrays, Relation
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op
from opgold.reference.update_attn_mask_offsets_stateless import update_attn_mask_offsets_stateless

INT32 = np.iinfo(np.int32)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    inputs = draw(attn_mask.masks())
    rng = draw(edges.seeds())
    this = inputs["seq_lens_this_time"].astype(np.int64)
    rollback = rng.integers(-3, 6, len(this))
    base = inputs["seq_lens_decoder"] + rng.integers(0, 5, len(this))
    edge = draw(st.sampled_from([0, 0, INT32.min, INT32.max]))
    if edge:  # bases at one end of int32, as far as the tokens allow
        base = np.clip(edge, INT32.min, INT32.max - this)
        rollback = rng.integers(0, 6, len(this)) * (1 if edge < 0 else -1)
    decoder = np.clip(base + rollback, INT32.min, INT32.max)
    inputs["attn_mask_offsets_decoder"] = decoder.astype(np.int32)
    inputs["mask_rollback"] = rollback.astype(np.int32)
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: lengths and prefix sums that disagree, too few tokens or columns, int32 exceeded."""
    sample = draw(samples().filter(lambda s: len(np.asarray(s.inputs["seq_lens_this_time"])) > 0))
    slots = np.flatnonzero(attn_mask.decodes(sample.inputs))
    if len(slots) == 0 or draw(st.integers(0, 4)):
        changed = draw(attn_mask.with_fault(sample.inputs))
        return replace(sample, inputs=changed)
    inputs: dict[str, Any] = dict(sample.inputs)
    slot = slots[draw(st.integers(0, len(slots) - 1))]
    length = int(inputs["seq_lens_this_time"][slot])
    below, above = (INT32.min, 1), (INT32.max, -1)
    pairs = [below, above, (INT32.max, INT32.min), (INT32.min, INT32.max)]
    if length:
        pairs.append((INT32.max - length + 1, 0))
    for name, value in zip(("attn_mask_offsets_decoder", "mask_rollback"), draw(st.sampled_from(pairs)), strict=True):
        inputs[name] = inputs[name].copy()
        inputs[name][slot] = value
    return replace(sample, inputs=inputs)


def _base(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["attn_mask_offsets_decoder"]) - np.asarray(inputs["mask_rollback"]).astype(np.int64)


def _rolled_back(sample: Sample, rng: np.random.Generator) -> Sample:
    """The rollback already taken off."""
    decoding = attn_mask.decodes(sample.inputs)
    base = np.where(decoding, _base(sample.inputs), sample.inputs["attn_mask_offsets_decoder"])
    rollback = np.where(decoding, 0, sample.inputs["mask_rollback"])
    state = {"attn_mask_offsets_decoder": base.astype(np.int32), "mask_rollback": rollback.astype(np.int32)}
    return replace(sample, inputs={**sample.inputs, **state})


def _like_stateless() -> Relation:
    """With the base at the cached length, ends are those of the stateless form."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        rollback = np.asarray(sample.inputs["mask_rollback"]).astype(np.int64)
        decoder = np.asarray(sample.inputs["seq_lens_decoder"]) + rollback
        decoding = attn_mask.decodes(sample.inputs)
        if np.any(decoding & ((decoder > INT32.max) | (decoder < INT32.min))):
            return None
        state = np.where(decoding, decoder, sample.inputs["attn_mask_offsets_decoder"]).astype(np.int32)
        return replace(sample, inputs={**sample.inputs, "attn_mask_offsets_decoder": state})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        stateful = ("attn_mask_offsets_decoder", "mask_rollback")
        inputs: dict[str, Any] = {k: v for k, v in sample.inputs.items() if k not in stateful}
        inputs["decode_states"] = inputs["decode_states"].copy()
        ends = np.empty_like(outputs["attn_mask_offsets"])
        update_attn_mask_offsets_stateless(**inputs, attn_mask_offsets=ends)
        return {"attn_mask_offsets": ends}

    return Relation("agrees with the stateless form", transform, expect)


LAYOUT = attn_mask.LAYOUT
RELATIONS = (
    *attn_mask.RELATIONS,
    Relation("rollback is taken off the base", _rolled_back, lambda sample, outputs, rng: outputs),
    _like_stateless(),
)


def workload(batch: Batch) -> dict[str, Any]:
    kept = {"attn_mask_offsets_decoder": batch.dec, "mask_rollback": np.zeros(SLOTS, np.int32)}
    return attn_mask.workload(batch) | kept


WORKLOADS = index_op(workload, decode=3)
