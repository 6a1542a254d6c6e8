"""Inputs of speculate_update_seq_lens_this_time: any mix of lengths, part of the rows in use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import INT32, anything, fill, kinds, noise, put, with_fault
from opgold.cases.relations import Arrays, Layout, PerSlot, Relation, agrees, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(("decode", "prompt", "chunk", "idle"), min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz = len(does)
    real = draw(st.one_of(st.just(bsz), st.integers(min_slots, bsz)))
    used, lengths = np.arange(bsz) < real, np.array([1, 2, 9, INT32.max])
    prompt, cached = (does == "prompt") | (does == "chunk"), (does == "decode") | (does == "chunk")
    return Sample(
        {
            "seq_lens_this_time": anything(rng, bsz).astype(np.int32),
            "seq_lens_encoder": fill(used, np.where(prompt, rng.choice(lengths, bsz), 0), anything(rng, bsz)),
            "seq_lens_decoder": fill(used, np.where(cached, rng.choice(lengths, bsz), 0), anything(rng, bsz)),
            "real_bsz": real,
            "value": draw(st.sampled_from([0, 1, 2, 6, INT32.max])),
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """More rows than there are, a value that is no length, negative lengths."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    once, used = np.ones(1, bool), np.arange(len(inputs["seq_lens_encoder"])) < inputs["real_bsz"]
    past = len(used) + draw(st.sampled_from([1, 2, 10**6]))
    negative = draw(st.sampled_from(edges.INT32[:2]))
    faults = [
        (once, lambda _: {"real_bsz": draw(st.sampled_from([-1, past]))}),
        (once, lambda _: {"value": draw(st.sampled_from([-1, 2**31]))}),
        (used, lambda slot: put(inputs, "seq_lens_encoder", slot, negative)),
        (used, lambda slot: put(inputs, "seq_lens_decoder", slot, negative)),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other lengths behind the rows in use, other tokens of decode and idle rows."""
    used = np.arange(len(np.asarray(inputs["seq_lens_encoder"]))) < inputs["real_bsz"]
    written = used & (np.asarray(inputs["seq_lens_encoder"]) == 0)
    changed: dict[str, Any] = noise(inputs, ["seq_lens_this_time", "seq_lens_encoder", "seq_lens_decoder"], rng)
    for name, given in changed.items():
        changed[name] = fill(written if name == "seq_lens_this_time" else ~used, given, np.asarray(inputs[name]))
    return changed


def _all_used(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """Permuting slots is a relation only where all are in use."""
    bsz = len(np.asarray(sample.inputs["seq_lens_encoder"]))
    return _PERMUTE.transform(sample, rng) if sample.inputs["real_bsz"] == bsz else None


def _tokens(inputs: Arrays) -> Arrays:
    given = {name: np.asarray(value) for name, value in inputs.items()}
    used = np.arange(len(given["seq_lens_encoder"])) < given["real_bsz"]
    decode = np.where(given["seq_lens_decoder"] != 0, given["value"], 0)
    this = np.where(used & (given["seq_lens_encoder"] == 0), decode, given["seq_lens_this_time"])
    return {"seq_lens_this_time": this.astype(np.int32)}


LAYOUT: Layout = {name: PerSlot() for name in ("seq_lens_this_time", "seq_lens_encoder", "seq_lens_decoder")}

_PERMUTE = permute_slots(LAYOUT, "seq_lens_encoder")

RELATIONS = (
    Relation(_PERMUTE.name, _all_used, _PERMUTE.expect),
    unread("other values where nothing is read", _unread),
    agrees("tokens of all slots at once", _tokens),
)


def workload(batch: Batch) -> dict[str, Any]:
    inputs: dict[str, Any] = {"seq_lens_this_time": batch.this, "seq_lens_encoder": batch.enc}
    return inputs | {"seq_lens_decoder": batch.dec, "real_bsz": SLOTS, "value": 5}


WORKLOADS = index_op(workload)
