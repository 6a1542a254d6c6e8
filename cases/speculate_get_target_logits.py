"""Inputs of speculate_get_target_logits: slots that accept all, some or none, prompts, any vocabulary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, logits_rows
from opgold.cases.draft_rows import INT32, anything, put, with_fault
from opgold.cases.hidden import columns_permuted, more_rows
from opgold.cases.logits_rows import ENC, cut_faults, held, length_faults, sum_faults, sums
from opgold.cases.relations import Arrays, Layout, Packed, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import prefix_sum
from opgold.cases.step_slots import THIS, Slots, Sums, more_slots, noise_rows, too_many_slots, with_tails
from opgold.cases.workload import SLOTS, Batch

OFFSETS = ("cu_batch_token_offset", "ori_cu_batch_token_offset")


def _given(inputs: Arrays) -> np.ndarray:
    bsz = len(np.asarray(inputs[THIS]))
    return np.where(np.asarray(inputs[ENC])[:bsz] > 0, 1, np.asarray(inputs["accept_num"])[:bsz])


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    rng = draw(edges.seeds())
    inputs: dict[str, Any] = draw(logits_rows.lengths(rng, min_slots=min_slots))
    most = held(inputs)
    prompt_num = anything(rng, len(most))  # a prompt's is not looked at
    inputs["accept_num"] = np.where(inputs[ENC] > 0, prompt_num, logits_rows.accepted(rng, most)).astype(np.int32)
    rows = {"target_logits": int(_given(inputs).sum()), "logits": int(most.sum())}
    inputs |= draw(logits_rows.logits(rng, rows, tuple(rows)))
    inputs["cu_batch_token_offset"] = sums(_given(inputs), rng, draw(st.integers(0, 2)))
    inputs["ori_cu_batch_token_offset"] = sums(most, rng, draw(st.integers(0, 2)))
    return Sample(with_tails(inputs, [ENC, "accept_num"], draw(st.sampled_from([0, 0, 1, 9])), rng))


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Wrong lengths, more accepted than there are rows, offsets that are not their sums, too few rows or slots."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    rng, bsz, most = draw(edges.seeds()), len(inputs[THIS]), held(inputs)
    decode = inputs[ENC][:bsz] <= 0

    def overdrawn(slot: int) -> dict[str, Any]:
        found = put(inputs, "accept_num", slot, draw(st.sampled_from([int(most[slot]) + 1, INT32.max, -1, INT32.min])))
        if draw(st.booleans()):
            return found
        given = _given({**inputs, **found}).astype(np.int64)
        return found | {"cu_batch_token_offset": prefix_sum(np.clip(given, 0, 99))}

    faults = length_faults(inputs)
    faults += cut_faults(inputs, {"target_logits": int(_given(inputs).sum()), "logits": int(most.sum())}, rng)
    faults += [fault for name in OFFSETS for fault in sum_faults(inputs, name, rng)]
    faults += [(decode, overdrawn), (decode, overdrawn)]
    faults += [(np.ones(1, bool), lambda _: too_many_slots(inputs, len(inputs[ENC])))]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _at_once(inputs: Arrays) -> Arrays:
    """Of all logits rows, those are kept whose place in their slot is below what the slot gives."""
    rows, given, target = held(inputs), _given(inputs), np.asarray(inputs["target_logits"]).copy()
    place = np.arange(int(rows.sum())) - np.repeat(prefix_sum(rows)[:-1], rows)
    kept = np.asarray(inputs["logits"])[: len(place)][place < np.repeat(given, rows)]
    target[: len(kept)] = kept
    return {"target_logits": target}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other rejected logits rows, another accept_num of prompts."""
    rows, given, logits = held(inputs), _given(inputs), np.asarray(inputs["logits"])
    place = np.arange(int(rows.sum())) - np.repeat(prefix_sum(rows)[:-1], rows)
    kept = np.pad(place < np.repeat(given, rows), (0, len(logits) - len(place)))
    enc, number = np.asarray(inputs[ENC]), np.asarray(inputs["accept_num"])
    return {
        "logits": np.where(kept[:, None], logits, noise_rows(rng, len(logits), logits)),
        "accept_num": np.where(enc > 0, anything(rng, len(enc)), number).astype(np.int32),
    }


LAYOUT: Layout = {
    "target_logits": Packed(_given),
    "logits": Packed(held),
    "cu_batch_token_offset": Sums(),
    "ori_cu_batch_token_offset": Sums(),
    THIS: Slots(),
    ENC: Slots(),
    "accept_num": Slots(),
}

RELATIONS = (
    permute_slots(LAYOUT, THIS),
    insert_idle_slots(LAYOUT, THIS),
    more_slots((ENC, "accept_num")),
    more_slots(OFFSETS),
    more_rows("logits", "target_logits"),
    columns_permuted(),
    unread("other rejected rows", _unread),
    agrees("all rows at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "target_logits": np.zeros_like(batch.hidden),
        "logits": batch.hidden,
        "cu_batch_token_offset": batch.cu_seqlens_q_output,
        "ori_cu_batch_token_offset": batch.cu_seqlens_q_output,
        THIS: batch.this,
        ENC: batch.enc,
        "accept_num": np.full(SLOTS, batch.drafts, np.int32),
    }


WORKLOADS = logits_rows.logits_op(workload)
