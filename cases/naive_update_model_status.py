"""Inputs of naive_update_model_status: running slots with one or several output rows, idle slots with and without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import INT32, anything, cut, fill, flags, kinds, noise, put, wide_ids, with_fault
from opgold.cases.hidden import surplus
from opgold.cases.logits_rows import sums
from opgold.cases.relations import Arrays, Layout, Packed, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import prefix_sum
from opgold.cases.step_slots import THIS, Slots, Sums, more_slots, too_many_slots, with_tails, wrong_values
from opgold.cases.workload import SLOTS, Batch, index_op

SUMS = "cu_seqlens_q_output"


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(("decode", "decode", "prompt", "several", "idle", "idle"), min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, idle = len(does), does == "idle"
    rows = np.where(does == "several", rng.integers(2, 5, bsz), np.where(idle, flags(rng, bsz, 0.2), 1))
    this = np.where(does == "prompt", rng.integers(2, 99, bsz), np.where(idle, 0, np.maximum(rows, 1)))
    inputs: dict[str, Any] = {
        "accept_tokens": wide_ids(rng, bsz, draw(edges.sizes(0 if idle.all() else 1, 40))),
        "accept_num": anything(rng, bsz).astype(np.int32),
        THIS: fill(flags(rng, bsz, 0.1) & ~idle, np.full(bsz, INT32.max), this),
        "next_tokens": wide_ids(rng, int(rows.sum()) + draw(surplus())),
        SUMS: sums(rows, rng, draw(st.integers(0, 2))),
    }
    return Sample(with_tails(inputs, ["accept_tokens", "accept_num"], draw(st.sampled_from([0, 0, 1, 9])), rng))


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Running slots without an output row, sums that fall or pass the tokens, no column, more slots than there are."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    rng, bsz, once = draw(edges.seeds()), len(inputs[THIS]), np.ones(1, bool)
    running, rows = inputs[THIS] > 0, np.diff(inputs[SUMS][: bsz + 1])
    total = int(rows.sum())

    def no_row(slot: int) -> dict[str, Any]:
        fewer = rows.copy()
        fewer[slot] = 0
        return put(inputs, THIS, slot, 3) | {SUMS: prefix_sum(fewer)}

    def past(_: int) -> dict[str, Any]:
        return {"next_tokens": inputs["next_tokens"][: int(rng.integers(0, total))]}

    def off(slot: int) -> dict[str, Any]:
        values = (-1, len(inputs["next_tokens"]) + 1, INT32.max, INT32.min)
        return put(inputs, SUMS, slot + 1, draw(st.sampled_from(values)))

    def falling(_: int) -> dict[str, Any]:
        return {SUMS: inputs[SUMS][::-1].copy() + 1}

    faults = [
        (np.ones(bsz, bool), no_row),
        (np.ones(bsz, bool), no_row),
        (np.ones(bsz, bool), off),
        (once, lambda _: put(inputs, SUMS, 0, draw(st.sampled_from([1, *edges.INT32])))),
        (running, lambda _: cut(inputs, "accept_tokens", 0)),
        (once, lambda _: too_many_slots(inputs, len(inputs["accept_num"]))),
        (once, lambda _: {SUMS: inputs[SUMS][:bsz]}),
        (once, falling),
        *wrong_values(inputs, np.ones(bsz, bool), THIS, edges.INT32[:2]),
    ]
    if total:
        faults.append((once, past))
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _rows(inputs: Arrays) -> np.ndarray:
    return np.diff(np.asarray(inputs[SUMS])[: len(np.asarray(inputs[THIS])) + 1])


def _last(inputs: Arrays) -> np.ndarray:
    """Which sampled tokens are the last of a running slot."""
    last = np.zeros(len(np.asarray(inputs["next_tokens"])), bool)
    running = np.asarray(inputs[THIS]) > 0
    last[np.cumsum(_rows(inputs))[running] - 1] = True
    return last


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other tokens that are not a running slot's last, other counts before, other lengths of running slots."""
    tokens, number, this = (np.asarray(inputs[name]) for name in ("next_tokens", "accept_num", THIS))
    ahead = np.arange(len(number)) < len(this)
    return {
        "next_tokens": np.where(_last(inputs), tokens, wide_ids(rng, len(tokens))),
        "accept_num": np.where(ahead, noise(inputs, ["accept_num"], rng)["accept_num"], number),
        THIS: np.where(this > 0, rng.integers(1, 2**31, len(this)), 0).astype(np.int32),
    }


def _at_once(inputs: Arrays) -> Arrays:
    running = np.asarray(inputs[THIS]) > 0
    number, rows = np.asarray(inputs["accept_num"]).copy(), np.asarray(inputs["accept_tokens"]).copy()
    number[: len(running)] = running
    rows[np.flatnonzero(running), :1] = np.asarray(inputs["next_tokens"])[_last(inputs)][:, None]
    return {"accept_tokens": rows, "accept_num": number, THIS: running.astype(np.int32)}


LAYOUT: Layout = {
    "accept_tokens": Slots(),
    "accept_num": Slots(),
    THIS: Slots(),
    "next_tokens": Packed(_rows),
    SUMS: Sums(),
}

RELATIONS = (
    permute_slots(LAYOUT, THIS),
    insert_idle_slots(LAYOUT, THIS),
    more_slots(("accept_tokens", "accept_num")),
    more_slots(("next_tokens",)),
    more_slots((SUMS,)),
    unread("other values where nothing is read", _unread),
    agrees("all slots at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "accept_tokens": batch.ids(SLOTS, batch.drafts),
        "accept_num": np.zeros(SLOTS, np.int32),
        THIS: batch.this,
        "next_tokens": batch.ids(int(batch.rows.sum())),
        SUMS: batch.cu_seqlens_q_output,
    }


WORKLOADS = index_op(workload)
