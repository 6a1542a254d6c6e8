"""Inputs of speculate_insert_first_token: prompt chunks between decode slots, buffers larger than needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, logits_rows
from opgold.cases.draft_rows import cut, wide_ids, with_fault
from opgold.cases.hidden import surplus
from opgold.cases.logits_rows import ENC, cut_faults, held, length_faults, sum_faults, sums, with_first
from opgold.cases.relations import Arrays, Layout, Packed, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import prefix_sum
from opgold.cases.step_slots import THIS, Slots, Sums, more_slots, too_many_slots, with_tails
from opgold.cases.workload import SLOTS, Batch, index_op

OFFSETS = ("cu_next_token_offset", "cu_batch_token_offset")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    rng = draw(edges.seeds())
    inputs: dict[str, Any] = draw(logits_rows.lengths(rng, min_slots=min_slots))
    bsz, behind = len(inputs[THIS]), draw(st.sampled_from([0, 0, 1, 9]))
    prompts = bool((inputs[ENC] > 0).any())
    inputs["token_ids"] = wide_ids(rng, int(with_first(inputs).sum()) + draw(surplus()))
    inputs["next_tokens"] = wide_ids(rng, int(held(inputs).sum()) + draw(surplus()))
    inputs["accept_tokens"] = wide_ids(rng, bsz, draw(st.integers(1 if prompts else 0, 6)))
    inputs = with_tails(inputs, [ENC, "accept_tokens"], behind, rng)
    inputs["cu_next_token_offset"] = sums(held(inputs), rng, draw(st.integers(0, 2)))
    inputs["cu_batch_token_offset"] = sums(with_first(inputs), rng, draw(st.integers(0, 2)))
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Wrong lengths, offsets that are not their sums, too few tokens, columns or slots."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    rng, bsz = draw(edges.seeds()), len(inputs[THIS])
    needs = {
        "token_ids": int(with_first(inputs).sum()),
        "next_tokens": int(held(inputs).sum()),
        "accept_tokens": bsz,
    }
    faults = length_faults(inputs) + cut_faults(inputs, needs, rng)
    faults += [fault for name in OFFSETS for fault in sum_faults(inputs, name, rng)]
    faults += [(inputs[ENC][:bsz] > 0, lambda _: cut(inputs, "accept_tokens", 0))]
    faults += [(np.ones(1, bool), lambda _: too_many_slots(inputs, len(inputs[ENC])))]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _at_once(inputs: Arrays) -> Arrays:
    """What is left of all tokens without the first ones is `next_tokens`."""
    bsz, tokens = len(inputs[THIS]), np.asarray(inputs["token_ids"]).copy()
    made, prompts = with_first(inputs), np.asarray(inputs[ENC])[:bsz] > 0
    firsts = prefix_sum(made)[:-1][prompts]
    rest = np.setdiff1d(np.arange(int(made.sum())), firsts)
    tokens[firsts] = np.asarray(inputs["accept_tokens"])[:bsz][prompts][:, :1].reshape(-1)
    tokens[rest] = np.asarray(inputs["next_tokens"])[: len(rest)]
    return {"token_ids": tokens}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Accepted tokens behind the first, and of slots that are no prompt; how long a prompt is."""
    tokens, enc = np.asarray(inputs["accept_tokens"]), np.asarray(inputs[ENC])
    bsz, changed = len(inputs[THIS]), wide_ids(rng, *tokens.shape)
    prompts = np.flatnonzero(enc[:bsz] > 0)
    changed[prompts, :1] = tokens[prompts, :1]
    longer = np.where(enc > 0, rng.integers(1, 2**31, len(enc)), enc).astype(np.int32)
    return {"accept_tokens": changed, ENC: longer}


LAYOUT: Layout = {
    "token_ids": Packed(with_first),
    "accept_tokens": Slots(),
    "next_tokens": Packed(held),
    "cu_next_token_offset": Sums(),
    "cu_batch_token_offset": Sums(),
    THIS: Slots(),
    ENC: Slots(),
}

RELATIONS = (
    permute_slots(LAYOUT, THIS),
    insert_idle_slots(LAYOUT, THIS),
    more_slots(("accept_tokens", ENC)),
    more_slots(OFFSETS),
    more_slots(("token_ids",)),
    more_slots(("next_tokens",)),
    unread("other tokens and lengths where nothing is read", _unread),
    agrees("all tokens at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    made = batch.rows + (batch.enc > 0)
    return {
        "token_ids": np.zeros(int(made.sum()), np.int64),
        "accept_tokens": batch.ids(SLOTS, batch.drafts),
        "next_tokens": batch.ids(int(batch.rows.sum())),
        "cu_next_token_offset": prefix_sum(batch.rows),
        "cu_batch_token_offset": prefix_sum(made),
        THIS: batch.this,
        ENC: batch.enc,
    }


WORKLOADS = index_op(workload)
