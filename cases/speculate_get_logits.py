"""Inputs of speculate_get_logits: prompt chunks between decode slots, any vocabulary, buffers larger than needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, logits_rows
from opgold.cases.draft_rows import with_fault
from opgold.cases.hidden import columns_permuted, more_rows, other_values
from opgold.cases.logits_rows import ENC, cut_faults, held, length_faults, with_first
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    Relation,
    agrees,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import prefix_sum
from opgold.cases.step_slots import THIS, Slots, Sums, more_slots, noise_rows, too_many_slots, with_tails
from opgold.cases.workload import SLOTS, Batch

COUNTS = ("next_token_num", "batch_token_num")
OFFSETS = ("cu_next_token_offset", "cu_batch_token_offset")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    rng = draw(edges.seeds())
    inputs: dict[str, Any] = draw(logits_rows.lengths(rng, min_slots=min_slots))
    bsz = len(inputs[THIS])
    rows = {"draft_logits": int(with_first(inputs).sum()), "logits": int(held(inputs).sum()), "first_token_logits": bsz}
    inputs |= draw(logits_rows.logits(rng, rows, tuple(rows)))
    behind = draw(st.sampled_from([0, 0, 1, 9]))
    inputs = with_tails(inputs, [ENC], behind, rng)
    slots = np.zeros(0, np.int32)
    inputs |= {name: noise_rows(rng, bsz + behind, slots) for name in COUNTS}
    inputs |= {name: noise_rows(rng, bsz + behind + 1, slots) for name in OFFSETS}
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Negative and huge lengths, prompts without tokens, too few rows or slots."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    bsz, need = len(inputs[THIS]), int(with_first(inputs).sum())
    needs = {"draft_logits": need, "logits": int(held(inputs).sum()), "first_token_logits": bsz}

    def huge(_: int) -> dict[str, Any]:
        rows = draw(st.sampled_from([need + len(inputs["logits"]) + 1, 2**30 + 7, edges.INT32[2]]))
        return {ENC: 0 * inputs[ENC], THIS: np.full(bsz, rows, np.int32)}

    faults = length_faults(inputs) + cut_faults(inputs, needs, draw(edges.seeds()))
    faults += [(np.ones(1, bool), huge), (np.ones(1, bool), lambda _: too_many_slots(inputs, len(inputs[ENC])))]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _at_once(inputs: Arrays) -> Arrays:
    """Every draft row asked for its source."""
    bsz, enc = len(inputs[THIS]), np.asarray(inputs[ENC])
    given, made = held(inputs), with_first(inputs)
    after = {name: np.asarray(inputs[name]).copy() for name in (*COUNTS, *OFFSETS, "draft_logits")}
    for name, values in zip((*COUNTS, *OFFSETS), (given, made, prefix_sum(given), prefix_sum(made)), strict=True):
        after[name][: len(values)] = values
    slot = np.repeat(np.arange(bsz), made)
    first = np.concatenate([[True], slot[1:] != slot[:-1]])[: len(slot)] & (enc[slot] > 0)
    rows = np.empty((len(slot), after["draft_logits"].shape[1]), np.float32)
    rows[first] = np.asarray(inputs["first_token_logits"])[slot[first]]
    rows[~first] = np.asarray(inputs["logits"])[: int(given.sum())]
    after["draft_logits"][: len(slot)] = rows
    return after


def _as_decode(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """A prompt chunk is a decode slot of two rows, of which the first is its first token's."""
    inputs = dict(sample.inputs)
    enc = np.asarray(inputs[ENC])
    prompts = np.flatnonzero(enc[: len(inputs[THIS])] > 0)
    if not len(prompts):
        return None
    slot = int(rng.choice(prompts))
    at = int(held(inputs)[:slot].sum())
    logits = np.insert(np.asarray(inputs["logits"]), at, np.asarray(inputs["first_token_logits"])[slot], axis=0)
    this, encoder = np.array(inputs[THIS]), enc.copy()
    this[slot], encoder[slot] = 2, 0
    return replace(sample, inputs={**inputs, "logits": logits, THIS: this, ENC: encoder})


def _same_rows(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
    return {name: outputs[name] for name in ("draft_logits", "batch_token_num", "cu_batch_token_offset")}


LAYOUT: Layout = {
    "draft_logits": Packed(with_first),
    "next_token_num": Slots(),
    "batch_token_num": Slots(),
    "cu_next_token_offset": Sums(),
    "cu_batch_token_offset": Sums(),
    "logits": Packed(held),
    "first_token_logits": Slots(),
    THIS: Slots(),
    ENC: Slots(),
}


def _overwritten(inputs: Arrays, name: str) -> np.ndarray:
    return np.arange(len(np.asarray(inputs[name]))) < len(np.asarray(inputs[THIS])) + (name in OFFSETS)


RELATIONS = (
    permute_slots(LAYOUT, THIS),
    insert_idle_slots(LAYOUT, THIS),
    more_slots((*COUNTS, *OFFSETS, ENC, "first_token_logits")),
    more_rows("logits", "draft_logits"),
    columns_permuted(),
    unread("other counts and offsets before", other_values(*COUNTS, *OFFSETS, bits=_overwritten)),
    Relation("a prompt is two decoded rows", _as_decode, _same_rows),
    agrees("all rows at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "draft_logits": np.zeros_like(batch.hidden),
        "next_token_num": np.zeros(SLOTS, np.int32),
        "batch_token_num": np.zeros(SLOTS, np.int32),
        "cu_next_token_offset": np.zeros(SLOTS + 1, np.int32),
        "cu_batch_token_offset": np.zeros(SLOTS + 1, np.int32),
        "logits": batch.hidden,
        "first_token_logits": np.zeros((SLOTS, batch.width), np.float32),
        THIS: batch.this,
        ENC: batch.enc,
    }


WORKLOADS = logits_rows.logits_op(workload)
