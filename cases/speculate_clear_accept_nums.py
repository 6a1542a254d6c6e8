"""Inputs of speculate_clear_accept_nums: slots with and without cached tokens, more counts than lengths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import INT32, anything, fill, flags, kinds, noise, with_fault
from opgold.cases.relations import Arrays, Layout, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.step_slots import Slots, more_slots, with_tails, wrong_values
from opgold.cases.workload import SLOTS, Batch, index_op

DEC = "seq_lens_decoder"


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    cached = draw(kinds(("cached", "none"), min_slots=min_slots)) == "cached"
    rng = draw(edges.seeds())
    bsz = len(cached)
    lengths = np.where(flags(rng, bsz), rng.integers(1, 9, bsz), rng.choice([256, 65536, 2**24, INT32.max], bsz))
    inputs = {"accept_num": anything(rng, bsz).astype(np.int32), DEC: fill(cached, lengths, np.zeros(bsz))}
    return Sample(with_tails(inputs, ["accept_num"], draw(st.sampled_from([0, 0, 1, 9])), rng))


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Negative lengths, or fewer counts than lengths."""
    sample = draw(samples(min_slots=1))
    inputs, bsz = dict(sample.inputs), len(sample.inputs[DEC])
    fewer = {"accept_num": inputs["accept_num"][: draw(st.integers(0, bsz - 1))]}
    every = np.ones(bsz, bool)
    faults = [*wrong_values(inputs, every, DEC, edges.INT32[:2]), (every, lambda _: fewer)]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other counts of slots that are cleared, other lengths of slots that are not."""
    length, number = np.asarray(inputs[DEC]), np.asarray(inputs["accept_num"])
    cleared = np.pad(length == 0, (0, len(number) - len(length)))
    return {
        "accept_num": np.where(cleared, noise(inputs, ["accept_num"], rng)["accept_num"], number),
        DEC: np.where(length > 0, rng.integers(1, 2**31, len(length)), 0).astype(np.int32),
    }


def _product(inputs: Arrays) -> Arrays:
    length, number = np.asarray(inputs[DEC]), np.asarray(inputs["accept_num"])
    keeps = np.pad(np.minimum(length, 1), (0, len(number) - len(length)), constant_values=1)
    return {"accept_num": number * keeps}


LAYOUT: Layout = {"accept_num": Slots(of=DEC), DEC: Slots(of=DEC)}

RELATIONS = (
    permute_slots(LAYOUT, DEC),
    insert_idle_slots(LAYOUT, DEC),
    more_slots(("accept_num",)),
    unread("other values where nothing is read", _unread),
    agrees("a count times whether anything is cached", _product),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {"accept_num": np.full(SLOTS, batch.drafts, np.int32), DEC: batch.dec}


WORKLOADS = index_op(workload)
