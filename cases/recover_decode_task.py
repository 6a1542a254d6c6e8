"""Inputs of recover_decode_task: blocked slots that lack their current, their look-ahead, or no block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import block_scheduling, edges
from opgold.cases.block_scheduling import ahead, attribute_faults, cached_lengths, missing, own_tokens
from opgold.cases.draft_rows import INT32, anything, fill, flags, kinds, noise, put, with_fault
from opgold.cases.relations import Arrays, Layout, agrees, holds, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.step_slots import THIS, Slots, more_slots, too_many_slots, with_tails
from opgold.cases.workload import PREFILL, SLOTS, Batch, index_op

SAVED = "step_seq_lens_decoder"
VECTORS = ("seq_lens_encoder", "seq_lens_decoder", SAVED)
SLOT_ARRAYS = (*VECTORS, "stop_flags", "block_tables", "is_block_step")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    blocked = draw(kinds(("blocked", "blocked", "other"), min_slots=min_slots)) == "blocked"
    rng = draw(edges.seeds())
    bsz = len(blocked)
    inputs: dict[str, Any] = draw(block_scheduling.tables(rng, bsz))
    row = inputs["block_tables"].shape[1] * inputs["block_size"]
    now = own_tokens(inputs) + rng.integers(-2, 3, bsz)  # its own next token is on the edge
    saved = np.clip(np.where(flags(rng, bsz, 0.3), now, cached_lengths(inputs, rng)), 0, row - 1)
    inputs |= {
        "stop_flags": blocked | flags(rng, bsz),
        THIS: anything(rng, bsz).astype(np.int32),
        "seq_lens_encoder": anything(rng, bsz).astype(np.int32),
        "seq_lens_decoder": anything(rng, bsz).astype(np.int32),
        SAVED: fill(blocked, saved, anything(rng, bsz)),
        "is_block_step": blocked,
    }
    return Sample(with_tails(inputs, SLOT_ARRAYS, draw(st.sampled_from([0, 0, 1, 9])), rng))


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Saved lengths outside the table, ids below -1, wrong attributes, more slots than there are."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    blocked, table, size = inputs["is_block_step"][: len(inputs[THIS])], inputs["block_tables"], inputs["block_size"]
    columns = table.shape[1]

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, [*VECTORS, THIS], draw(edges.seeds()))
        return wild | put(inputs, "is_block_step", 0, 1) | put(wild, SAVED, 0, draw(st.sampled_from(edges.INT32[:2])))

    def bad_id(slot: int) -> dict[str, Any]:
        cached = int(inputs[SAVED][slot])
        found = [c for c in (cached // size, (cached + ahead(inputs)) // size) if c < columns]
        wrong = table.copy()
        wrong[slot, draw(st.sampled_from(found))] = draw(st.sampled_from([-2, INT32.min]))
        return {"block_tables": wrong}

    outside = (-1, INT32.min, columns * size, INT32.max if columns * size < INT32.max else -2)
    faults = [
        *attribute_faults(),
        (np.ones(1, bool), chaos),
        (np.ones(1, bool), lambda _: too_many_slots(inputs, len(inputs["is_block_step"]))),
        (blocked, bad_id),
        (blocked, lambda slot: put(inputs, SAVED, slot, draw(st.sampled_from(outside)))),
        (blocked, lambda _: {"block_tables": table[:, :0].copy()}),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _resumes(inputs: Arrays) -> np.ndarray:
    bsz = len(np.asarray(inputs[THIS]))
    saved = np.asarray(inputs[SAVED])[:bsz]
    here = saved < own_tokens(inputs)[:bsz]
    return np.asarray(np.asarray(inputs["is_block_step"])[:bsz] & here & ~missing(inputs, saved))


def _at_once(inputs: Arrays) -> Arrays:
    after = {name: np.array(inputs[name]) for name in ("stop_flags", THIS, *VECTORS[:2], "is_block_step")}
    slots = np.flatnonzero(_resumes(inputs))
    after["seq_lens_decoder"][slots] = np.asarray(inputs[SAVED])[slots]
    for name, value in (("stop_flags", 0), (THIS, 1), ("seq_lens_encoder", 0), ("is_block_step", 0)):
        after[name][slots] = value
    return after


def _not_blocked_again(inputs: Arrays, outputs: Arrays) -> bool:
    """Nothing that resumed lacks its look-ahead block."""
    bsz = len(np.asarray(inputs[THIS]))
    resumed = np.asarray(inputs["is_block_step"])[:bsz] & ~np.asarray(outputs["is_block_step"])[:bsz]
    return not np.any(resumed & missing(inputs, np.asarray(outputs["seq_lens_decoder"])[:bsz]))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other saved lengths and tables of slots that are not blocked, other state of slots that resume."""
    bsz, slots = len(inputs[THIS]), len(np.asarray(inputs["stop_flags"]))
    idle = ~np.asarray(inputs["is_block_step"]) | (np.arange(slots) >= bsz)
    resumes = np.zeros(slots, bool)
    resumes[:bsz] = _resumes(inputs)
    other = noise(inputs, [*VECTORS, THIS], rng)
    changed = {name: np.where(resumes, other[name], inputs[name]) for name in VECTORS[:2]}
    return {
        **changed,
        THIS: np.where(resumes[:bsz], other[THIS], inputs[THIS]),
        SAVED: np.where(idle, other[SAVED], inputs[SAVED]),
        "block_tables": np.where(idle[:, None], 7, inputs["block_tables"]).astype(np.int32),
    }


LAYOUT: Layout = {name: Slots() for name in (*SLOT_ARRAYS, THIS)}

RELATIONS = (
    permute_slots(LAYOUT, THIS),
    insert_idle_slots(LAYOUT, THIS),
    more_slots(SLOT_ARRAYS),
    unread("other values where nothing is read", _unread),
    holds("nothing that resumed would be blocked", "is_block_step", _not_blocked_again),
    agrees("all slots at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    columns = PREFILL // 64
    table = np.arange(SLOTS * columns, dtype=np.int32).reshape(SLOTS, columns)
    own = (batch.dec + 2 * batch.drafts + 2) // 64 + (rng.random(SLOTS) < 0.5)
    table[np.arange(columns) >= own[:, None]] = -1
    return {
        "stop_flags": np.ones(SLOTS, bool),
        THIS: np.zeros(SLOTS, np.int32),
        "seq_lens_encoder": np.zeros(SLOTS, np.int32),
        "seq_lens_decoder": np.zeros(SLOTS, np.int32),
        SAVED: batch.dec,
        "block_tables": table,
        "is_block_step": np.ones(SLOTS, bool),
        "block_size": 64,
        "max_draft_tokens": batch.drafts,
    }


WORKLOADS = index_op(workload)
