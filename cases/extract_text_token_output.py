"""Inputs of extract_text_token_output: one slot with image tokens among others, all of its tokens or some or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.hidden import columns_permuted, more_rows, surplus, widths, with_value
from opgold.cases.relations import Arrays, Layout, Packed, PerSlot, Prefix, Relation, insert_idle_slots, permute_slots
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, batches
from opgold.cases.workload import PACKED_HIDDEN, Batch, Workload


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches(ORDINARY, min_slots=min_slots))
    rng = draw(edges.seeds())
    mixed, longest, images = 7, 3, 5  # not looked at without slots
    if batch.bsz:
        mixed = draw(st.one_of(st.just(int(np.argmax(batch.this))), st.integers(0, batch.bsz - 1)))
        longest = int(batch.this[mixed])
        images = draw(st.one_of(st.sampled_from([0, longest]), st.integers(0, longest)))
    rows = max(0, batch.tokens - images) + draw(surplus())
    inputs: dict[str, Any] = {
        "max_seq_len": np.array([longest], np.int32),
        "max_seq_len_index": np.array([mixed], np.int32),
        "mm_token_num_len": np.array([images], np.int32),
        "seq_lens_this_time": batch.this,
        "cu_seqlens_q": batch.cu_seqlens_q,
        "score_text": payload.hidden(rng, "float32", rows, draw(widths(rows + batch.bsz))),
    }
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: lengths, sums and the three numbers that disagree, too few score rows."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    bsz, longest = len(inputs["seq_lens_this_time"]), int(inputs["max_seq_len"][0])
    slot, need = draw(st.integers(0, bsz - 1)), int(inputs["cu_seqlens_q"][-1] - inputs["mm_token_num_len"][0])
    faults = ["length", "sum", "index", "longest", "images", "huge"] + ["scores"] * (need > 0)
    fault = draw(st.sampled_from(faults))
    if fault == "length":
        inputs = draw(with_value(inputs, "seq_lens_this_time", slot, list(edges.INT32[:2])))
    elif fault == "sum":
        right = int(inputs["cu_seqlens_q"][slot + 1])
        inputs = draw(with_value(inputs, "cu_seqlens_q", slot + 1, [right - 1, right + 1, *edges.INT32]))
    elif fault == "index":
        inputs["max_seq_len_index"] = np.array([draw(edges.out_of_range(bsz))], np.int32)
    elif fault == "longest":
        inputs = draw(with_value(inputs, "max_seq_len", 0, [longest + 1, longest - 1, -(2**31)]))
    elif fault == "images":
        inputs = draw(with_value(inputs, "mm_token_num_len", 0, [-1, longest + 1, *edges.INT32]))
    elif fault == "huge":
        inputs = draw(with_value(inputs, "seq_lens_this_time", slot, [edges.INT32[2]]))
    else:
        inputs["score_text"] = inputs["score_text"][: draw(st.integers(0, need - 1))]
    return replace(sample, inputs=inputs)


def _text_tokens(inputs: Arrays) -> np.ndarray:
    lengths = np.array(inputs["seq_lens_this_time"])
    if len(lengths):
        lengths[inputs["max_seq_len_index"][0]] -= inputs["mm_token_num_len"][0]
    return lengths


@dataclass(frozen=True)
class _SlotNumber:
    """The number of a slot."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        found = [new for new, old in enumerate(order) if old == array[0]]
        return np.array(found or [0], array.dtype)


LAYOUT: Layout = {
    "max_seq_len_index": _SlotNumber(),
    "seq_lens_this_time": PerSlot(),
    "cu_seqlens_q": Prefix(),
    "score_text": Packed(_text_tokens),
    "output": PerSlot(idle=1),
}


def _with_slots(relation: Relation) -> Relation:
    """The relation, where there are slots: without any the three numbers say nothing."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        return relation.transform(sample, rng) if len(sample.inputs["seq_lens_this_time"]) else None

    return replace(relation, transform=transform)


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    _with_slots(insert_idle_slots(LAYOUT, "seq_lens_this_time")),
    more_rows("score_text"),
    columns_permuted(),
)


def workload(batch: Batch) -> dict[str, Any]:
    """No image tokens, and as many columns as the batch has."""
    scores = np.random.default_rng(3).standard_normal((batch.tokens, batch.width), np.float32)
    return {
        "max_seq_len": batch.this[:1],
        "max_seq_len_index": np.zeros(1, np.int32),
        "mm_token_num_len": np.zeros(1, np.int32),
        "seq_lens_this_time": batch.this,
        "cu_seqlens_q": batch.cu_seqlens_q,
        "score_text": scores,
    }


SCORES = Batch("256 slots x 5 tokens x 4,096 float32", drafts=5, width=4096, dtype="float32")
WORKLOADS = (Workload(SCORES, workload, unit="copy"), Workload(PACKED_HIDDEN, workload, 25_000, "us"))
