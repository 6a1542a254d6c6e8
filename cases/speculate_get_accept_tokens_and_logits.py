"""Inputs of speculate_get_accept_tokens_and_logits: slots that accept all, some or none, prompts that go on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, logits_rows
from opgold.cases.draft_rows import INT32, cut, put, wide_ids, with_fault
from opgold.cases.hidden import surplus
from opgold.cases.logits_rows import ENC, cut_faults, held, length_faults, sum_faults, sums
from opgold.cases.relations import Arrays, Layout, Packed, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import prefix_sum
from opgold.cases.step_slots import THIS, Slots, Sums, more_slots, noise_rows, too_many_slots, with_tails
from opgold.cases.workload import SLOTS, Batch

OFFSETS = ("cu_batch_token_offset", "cu_seqlens_q_output")


def _accepted(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["accept_num"])[: len(np.asarray(inputs[THIS]))]


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    rng = draw(edges.seeds())
    inputs: dict[str, Any] = draw(logits_rows.lengths(rng, min_slots=min_slots))
    most = held(inputs)
    inputs["accept_num"] = logits_rows.accepted(rng, most).astype(np.int32)
    rows = {"target_logits": int(_accepted(inputs).sum()), "logits": int(most.sum())}
    inputs |= draw(logits_rows.logits(rng, rows, tuple(rows)))
    inputs["token_ids"] = wide_ids(rng, rows["target_logits"] + draw(surplus()))
    columns = int(inputs["accept_num"].max(initial=0)) + draw(st.integers(0, 2))
    inputs["accept_tokens"] = wide_ids(rng, len(most), columns)
    inputs["cu_batch_token_offset"] = sums(_accepted(inputs), rng, draw(st.integers(0, 2)))
    inputs["cu_seqlens_q_output"] = sums(most, rng, draw(st.integers(0, 2)))
    names = [ENC, "accept_num", "accept_tokens"]
    return Sample(with_tails(inputs, names, draw(st.sampled_from([0, 0, 1, 9])), rng))


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Wrong lengths, more accepted than there are rows or columns, offsets that are not their sums, too few rows."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    rng, bsz, most, accepted = draw(edges.seeds()), len(inputs[THIS]), held(inputs), _accepted(inputs)
    need = int(accepted.sum())

    def overdrawn(slot: int) -> dict[str, Any]:
        found = put(inputs, "accept_num", slot, draw(st.sampled_from([int(most[slot]) + 1, INT32.max, -1, INT32.min])))
        if draw(st.booleans()):
            return found
        return found | {"cu_batch_token_offset": prefix_sum(np.clip(_accepted(found | {THIS: inputs[THIS]}), 0, 99))}

    faults = length_faults(inputs)
    needs = {"target_logits": need, "token_ids": need, "logits": int(most.sum()), "accept_tokens": bsz}
    faults += cut_faults(inputs, needs, rng)
    faults += [fault for name in OFFSETS for fault in sum_faults(inputs, name, rng)]
    faults += [(np.ones(bsz, bool), overdrawn), (np.ones(bsz, bool), overdrawn)]
    faults += [(accepted > 0, lambda slot: cut(inputs, "accept_tokens", int(accepted[slot]) - 1))]
    faults += [(np.ones(1, bool), lambda _: too_many_slots(inputs, len(inputs[ENC])))]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _kept(inputs: Arrays) -> np.ndarray:
    """Which rows of all slots' logits are accepted."""
    rows = held(inputs)
    place = np.arange(int(rows.sum())) - np.repeat(prefix_sum(rows)[:-1], rows)
    return np.asarray(place < np.repeat(_accepted(inputs), rows))


def _at_once(inputs: Arrays) -> Arrays:
    accepted, tokens = _accepted(inputs), np.asarray(inputs["accept_tokens"])[: len(inputs[THIS])]
    ids, target = np.asarray(inputs["token_ids"]).copy(), np.asarray(inputs["target_logits"]).copy()
    packed = tokens[np.arange(tokens.shape[1]) < accepted[:, None]]
    ids[: len(packed)] = packed
    kept = np.flatnonzero(_kept(inputs))
    target[: len(kept)] = np.asarray(inputs["logits"])[kept]
    return {"token_ids": ids, "target_logits": target}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other rejected logits rows and tokens, other lengths of prompts."""
    logits, enc = np.asarray(inputs["logits"]), np.asarray(inputs[ENC])
    kept = _kept(inputs)
    kept = np.pad(kept, (0, len(logits) - len(kept)))
    tokens = np.asarray(inputs["accept_tokens"])
    accepted = np.zeros(len(tokens), np.int64)
    accepted[: len(inputs[THIS])] = _accepted(inputs)
    taken = np.arange(tokens.shape[1]) < accepted[:, None]
    return {
        "logits": np.where(kept[:, None], logits, noise_rows(rng, len(logits), logits)),
        "accept_tokens": np.where(taken, tokens, wide_ids(rng, *tokens.shape)),
        ENC: np.where(enc > 0, rng.integers(1, 2**31, len(enc)), enc).astype(np.int32),
    }


LAYOUT: Layout = {
    "token_ids": Packed(_accepted),
    "target_logits": Packed(_accepted),
    "logits": Packed(held),
    "cu_batch_token_offset": Sums(),
    "cu_seqlens_q_output": Sums(),
    THIS: Slots(),
    ENC: Slots(),
    "accept_num": Slots(),
    "accept_tokens": Slots(),
}

RELATIONS = (
    permute_slots(LAYOUT, THIS),
    insert_idle_slots(LAYOUT, THIS),
    more_slots((ENC, "accept_num", "accept_tokens")),
    more_slots(OFFSETS),
    more_slots(("token_ids",)),
    more_slots(("target_logits", "logits")),
    unread("other rejected rows and tokens", _unread),
    agrees("all rows at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "token_ids": np.zeros(batch.tokens, np.int64),
        "target_logits": np.zeros_like(batch.hidden),
        "logits": batch.hidden,
        "cu_batch_token_offset": batch.cu_seqlens_q_output,
        "cu_seqlens_q_output": batch.cu_seqlens_q_output,
        THIS: batch.this,
        ENC: batch.enc,
        "accept_num": np.full(SLOTS, batch.drafts, np.int32),
        "accept_tokens": batch.ids(SLOTS, batch.drafts),
    }


WORKLOADS = logits_rows.logits_op(workload)
