"""Inputs of speculate_update: slots that accept all, some or none, stopped, blocked and prompt slots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import (
    INT32,
    INT64,
    anything,
    between,
    fill,
    flags,
    kinds,
    noise,
    put,
    wide_ids,
    with_fault,
)
from opgold.cases.relations import Arrays, Layout, Whole, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.step_slots import THIS, Slots, more_slots, too_many_slots, with_tails, wrong_values
from opgold.cases.workload import SLOTS, Batch, index_op

KINDS = ("decode", "decode", "decode", "prompt", "stopped", "stopped prompt", "blocked")
VECTORS = ("seq_lens_encoder", "seq_lens_decoder", "actual_draft_token_nums", "accept_num", "mask_rollback")
SLOT_ARRAYS = (*VECTORS, "draft_tokens", "accept_tokens", "stop_flags", "is_block_step")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(KINDS, min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, acts, zeros = len(does), does != "blocked", np.zeros(len(does), np.int64)
    prompt, stopped = np.isin(does, ("prompt", "stopped prompt")), np.isin(does, ("stopped", "stopped prompt"))
    stopped |= ~acts & flags(rng, bsz)
    width = draw(edges.sizes(1, 129 if bsz < 40 else 9, usual=7))
    accepted = between(rng, zeros, zeros + width)
    drafts = np.where(flags(rng, bsz), np.clip(accepted - 1, 0, width - 1), between(rng, zeros, zeros + width - 1))
    enc = np.where(prompt, rng.integers(1, 9, bsz), 0)
    added = np.where(prompt, enc, np.where(stopped, 0, accepted))
    dec = np.where(flags(rng, bsz, 0.2), INT32.max - added, rng.integers(0, 9, bsz))
    run = np.where(flags(rng, bsz, 0.9), between(rng, zeros, zeros + width + 1), INT32.max)
    adapts = acts & (run > 1) & ~prompt
    inputs: dict[str, Any] = {
        "seq_lens_encoder": fill(acts, enc, anything(rng, bsz)),
        "seq_lens_decoder": fill(acts, dec, anything(rng, bsz)),
        "not_need_stop": flags(rng, 1),
        "draft_tokens": wide_ids(rng, bsz, width),
        "actual_draft_token_nums": fill(adapts, drafts, anything(rng, bsz)),
        "accept_tokens": wide_ids(rng, bsz, width),
        "accept_num": fill(acts, accepted, anything(rng, bsz)),
        "stop_flags": stopped,
        "seq_lens_this_time": fill(acts, run, anything(rng, bsz)),
        "is_block_step": ~acts,
        "mask_rollback": anything(rng, bsz).astype(np.int32),
    }
    behind = draw(st.sampled_from([0, 0, 1, 3, 40]))
    inputs = with_tails(inputs, SLOT_ARRAYS, behind, rng)
    count = int(np.count_nonzero(acts & stopped)) + behind
    nums = draw(st.sampled_from([count - 1, count, count + 1, count + 1, 0, 2**32 + count, INT64.min, INT64.max]))
    return Sample({**inputs, "stop_nums": np.array([nums])})


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Wrong values in slots that are not blocked, anything at all in every slot, more slots than there are."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    bsz, width = len(inputs[THIS]), inputs["draft_tokens"].shape[1]
    acts, enc, run = ~inputs["is_block_step"][:bsz], inputs["seq_lens_encoder"][:bsz], inputs[THIS]
    adapts, once = acts & (run > 1) & (enc == 0), np.ones(1, bool)

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, [*VECTORS, THIS], draw(edges.seeds()))
        return wild | put(inputs, "is_block_step", 0, 0) | put(wild, "accept_num", 0, INT32.min)

    faults = [
        (once, chaos),
        (once, lambda _: too_many_slots(inputs, len(inputs["stop_flags"]))),
        (acts & (enc > 0), lambda slot: put(inputs, "seq_lens_decoder", slot, INT32.max)),
    ]
    for rows, name, values in (
        (acts, "accept_num", (-1, width + 1, INT32.max)),
        (acts, THIS, (-1, INT32.min)),
        (acts, "seq_lens_encoder", (-1, INT32.min)),
        (acts, "seq_lens_decoder", (-1, INT32.min)),
        (adapts, "actual_draft_token_nums", (-1, width, INT32.max, INT32.min)),
    ):
        faults += wrong_values(inputs, rows, name, values)
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other accepted tokens than the last, another flag, other rollbacks of slots that act."""
    bsz, tokens = len(inputs[THIS]), np.asarray(inputs["accept_tokens"])
    acts = ~np.asarray(inputs["is_block_step"]) & (np.arange(len(tokens)) < bsz)
    last = acts[:, None] & (np.arange(tokens.shape[1]) == np.asarray(inputs["accept_num"])[:, None] - 1)
    other = noise(inputs, ["mask_rollback"], rng)["mask_rollback"]
    return {
        "accept_tokens": np.where(last, tokens, wide_ids(rng, *tokens.shape)),
        "not_need_stop": flags(rng, 1),
        "mask_rollback": np.where(acts, other, inputs["mask_rollback"]),
    }


def _at_once(inputs: Arrays) -> Arrays:
    given = {name: np.asarray(value).astype(np.int64) for name, value in inputs.items()}
    bsz, slots, width = len(given[THIS]), len(given["stop_flags"]), given["draft_tokens"].shape[1]
    acts = (given["is_block_step"] == 0) & (np.arange(slots) < bsz)
    run = np.concatenate([given[THIS], np.zeros(slots - bsz, np.int64)])
    stopped, enc, accepted = given["stop_flags"] > 0, given["seq_lens_encoder"], given["accept_num"]
    decode, drafts = enc == 0, given["actual_draft_token_nums"]
    grown = np.minimum(drafts + 2, width - 1)
    adapted = np.where(accepted == drafts + 1, grown, np.maximum(drafts - 1, 1))
    tokens = given["draft_tokens"].copy()
    last = np.take_along_axis(given["accept_tokens"], np.clip(accepted - 1, 0, width - 1)[:, None], axis=1)[:, 0]
    tokens[:, 0] = np.where(acts & (accepted > 0), last, tokens[:, 0])
    moved = given["seq_lens_decoder"] + np.where(decode, np.where(stopped, 0, accepted), enc)
    still = np.count_nonzero(~acts[:bsz] | ~stopped[:bsz])
    return {
        "seq_lens_encoder": np.where(acts, 0, enc).astype(np.int32),
        "seq_lens_decoder": np.where(acts, moved, given["seq_lens_decoder"]).astype(np.int32),
        "not_need_stop": np.array([slots - still < int(given["stop_nums"][0])]),
        "draft_tokens": tokens,
        "actual_draft_token_nums": np.where(acts & decode & (run > 1), adapted, drafts).astype(np.int32),
        "mask_rollback": np.where(acts, np.where(decode & ~stopped, run - accepted, 0), given["mask_rollback"]).astype(
            np.int32
        ),
    }


def _numbered(inputs: Arrays, more: int) -> dict[str, Any]:
    """As many more stopped slots suffice."""
    return {"stop_nums": np.clip(np.asarray(inputs["stop_nums"]), -(2**40), 2**40) + more}


LAYOUT: Layout = {
    **{name: Slots() for name in (*SLOT_ARRAYS, THIS)},
    "not_need_stop": Whole(),
    "stop_nums": Whole(),
}


RELATIONS = (
    permute_slots(LAYOUT, THIS),
    insert_idle_slots(LAYOUT, THIS),
    more_slots(SLOT_ARRAYS, change=_numbered),
    unread("other values where nothing is read", _unread),
    agrees("all slots at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    return {
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "not_need_stop": np.zeros(1, bool),
        "draft_tokens": batch.ids(SLOTS, batch.drafts),
        "actual_draft_token_nums": np.full(SLOTS, batch.drafts - 1, np.int32),
        "accept_tokens": batch.ids(SLOTS, batch.drafts),
        "accept_num": rng.integers(1, batch.drafts + 1, SLOTS, np.int32),
        "stop_flags": np.zeros(SLOTS, bool),
        "seq_lens_this_time": batch.this,
        "is_block_step": np.zeros(SLOTS, bool),
        "stop_nums": np.array([SLOTS]),
        "mask_rollback": np.zeros(SLOTS, np.int32),
    }


WORKLOADS = index_op(workload)
