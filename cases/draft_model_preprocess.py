"""Inputs of draft_model_preprocess: rows that start, go on, resume, stop on a block, are dropped; all four flags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import draft_rounds, draft_workloads, edges
from opgold.cases.draft_rows import (
    INT32,
    INT64,
    anything,
    between,
    cut,
    fill,
    flags,
    kinds,
    noise,
    put,
    wide_ids,
    wider_rows,
    with_fault,
)
from opgold.cases.relations import Arrays, Layout, PerSlot, Whole, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op

KINDS = ("prompt", "going on", "going on", "resumed", "stopped", "blocked", "dropped")
VECTORS = [
    "seq_lens_this_time",
    "seq_lens_encoder",
    "seq_lens_decoder",
    "step_idx",
    "mask_rollback",
    "recompute_token_num",
    "accept_num",
    "base_model_seq_lens_this_time",
    "base_model_seq_lens_decoder",
    "base_model_step_idx",
]


def live_rows(inputs: Arrays) -> np.ndarray:
    """bool [bsz]."""
    if inputs["splitwise_prefill"]:
        return np.asarray(np.asarray(inputs["seq_lens_encoder"]) > 0)
    return np.asarray(~(np.asarray(inputs["base_model_stop_flags"]) | np.asarray(inputs["batch_drop"])))


def self_fed(inputs: Arrays) -> np.ndarray:
    """Tokens that a row going on runs again, int64 [bsz]."""
    drafted = np.maximum(np.asarray(inputs["base_model_seq_lens_this_time"]).astype(np.int64) - 2, 0)
    return np.asarray(np.minimum(inputs["recompute_token_num"], drafted))


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(KINDS, min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, prompt, zeros = len(does), does == "prompt", np.zeros(len(does), np.int64)
    decode = (does == "going on") | (does == "resumed")
    splitwise, truncate = draw(st.sampled_from([False, False, False, True])), draw(st.booleans())
    decoding = decode & (not splitwise)  # on a prefill instance they hold anything
    inputs: dict[str, Any] = draw(
        draft_rounds.rounds(prompt, decoding, rng, base="base_model", appended=int(not truncate))
    )
    if splitwise:
        inputs["seq_lens_encoder"] = np.where(prompt, inputs["seq_lens_encoder"], -abs(inputs["seq_lens_encoder"] % 9))
        inputs["pre_ids"] = wide_ids(rng, bsz, draw(edges.sizes(0, 9)))
    steps, verified = draw(edges.sizes(1, 40, usual=4)), rng.integers(0, 9, bsz)
    inputs["base_model_seq_lens_this_time"] = fill(decoding, verified, anything(rng, bsz))
    inputs["recompute_token_num"] = fill(decoding, rng.integers(0, steps + 2, bsz), anything(rng, bsz))
    again = self_fed(inputs)
    going_on, resumed = decoding & (does == "going on"), decoding & (does == "resumed")
    inputs["stop_flags"] = resumed | (~going_on & flags(rng, bsz))
    inputs["seq_lens_decoder"] = fill(going_on, again + rng.integers(0, 4, bsz), anything(rng, bsz))
    inputs["step_idx"] = fill(going_on, again + rng.integers(0, 4, bsz), anything(rng, bsz, INT64), np.int64)
    most = np.where(rng.random(bsz) < 0.2, INT32.max - again, 9)
    inputs["mask_rollback"] = fill(decoding, between(rng, zeros - 3, most), anything(rng, bsz))
    stopped, blocked, dropped = does == "stopped", does == "blocked", does == "dropped"
    inputs["base_model_stop_flags"] = stopped | blocked | (dropped & flags(rng, bsz)) | (flags(rng, bsz) & splitwise)
    inputs["base_model_is_block_step"] = blocked | (~stopped & flags(rng, bsz, 0.3))
    inputs["is_block_step"] = flags(rng, bsz)
    inputs["batch_drop"] = dropped | ((stopped | blocked) & flags(rng, bsz, 0.3))
    return Sample(
        {
            **inputs,
            "num_model_step": steps,
            "truncate_first_token": truncate,
            "splitwise_prefill": splitwise,
            "kvcache_scheduler_v1": draw(st.booleans()),
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in live rows, or anything at all in every row."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    live, enc = live_rows(inputs), np.asarray(inputs["seq_lens_encoder"])
    prompt, decode = live & (enc > 0), live & (enc <= 0)
    stopped, again = np.asarray(inputs["stop_flags"]), self_fed(inputs)
    behind = int(not inputs["truncate_first_token"])
    once = np.ones(1, bool)

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, VECTORS, draw(edges.seeds()))
        started = put(inputs, "base_model_stop_flags", 0, 0) | put(inputs, "batch_drop", 0, 0)
        return wild | started | put(wild, "seq_lens_encoder", 0, INT32.max)

    faults = draft_rounds.faults(inputs, prompt, decode, base="base_model", appended=behind)
    faults += [
        (once, chaos),
        (once, lambda _: {"num_model_step": draw(st.sampled_from([0, -1, 2**31]))}),
        (prompt & (not inputs["splitwise_prefill"]), lambda _: cut(inputs, "pre_ids", 0)),
        (
            decode,
            lambda slot: put(inputs, "base_model_seq_lens_this_time", slot, draw(st.sampled_from([-1, INT32.min]))),
        ),
        (decode, lambda slot: put(inputs, "recompute_token_num", slot, draw(st.sampled_from([-1, INT32.min])))),
        (decode & (again > 0), lambda slot: put(inputs, "mask_rollback", slot, INT32.max - int(again[slot]) + 1)),
        (
            decode & stopped,
            lambda slot: put(inputs, "base_model_seq_lens_decoder", slot, int(inputs["accept_num"][slot]) - 1),
        ),
        (decode & ~stopped, lambda slot: put(inputs, "seq_lens_decoder", slot, int(again[slot]) - 1)),
        (decode & ~stopped, lambda slot: put(inputs, "step_idx", slot, int(again[slot]) - 1)),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other values in what the rows do not look at, and in the base model's encoder lengths."""
    bsz = len(np.asarray(inputs["accept_num"]))
    live, enc = live_rows(inputs), np.asarray(inputs["seq_lens_encoder"])
    decode = live & (enc <= 0) & (not inputs["splitwise_prefill"])
    resumed = decode & np.asarray(inputs["stop_flags"])
    changed = {"base_model_seq_lens_encoder": anything(rng, bsz).astype(np.int32)}
    for name, read in {
        "seq_lens_this_time": np.zeros(bsz, bool),
        "accept_num": decode,
        "base_model_seq_lens_this_time": decode,
        "base_model_seq_lens_decoder": resumed,
        "base_model_step_idx": decode,
    }.items():
        old = np.asarray(inputs[name])
        changed[name] = fill(read, old, anything(rng, bsz, np.iinfo(old.dtype)), old.dtype.type)
    tokens = np.asarray(inputs["accept_tokens"])
    used = np.where(decode, inputs["accept_num"], np.where(live, 1, 0))[:, None]
    changed["accept_tokens"] = np.where(np.arange(tokens.shape[1]) < used, tokens, wide_ids(rng, *tokens.shape))
    return changed


def _states(inputs: Arrays) -> Arrays:
    """Flags and lengths, worked out for all slots at once."""
    given = {name: np.asarray(value) for name, value in inputs.items()}
    live, enc = live_rows(inputs), given["seq_lens_encoder"]
    prompt, decode = live & (enc > 0), live & (enc <= 0)
    again = np.where(decode, self_fed(inputs), 0)
    resumed, base_dec = decode & given["stop_flags"], given["base_model_seq_lens_decoder"]
    cached = np.where(resumed, base_dec.astype(np.int64) - given["accept_num"], given["seq_lens_decoder"] - again)
    this = np.where(prompt, enc + (1 - given["truncate_first_token"]), np.where(decode, given["accept_num"], 0))
    block = given["base_model_stop_flags"] & given["base_model_is_block_step"] & ~given["splitwise_prefill"]
    v1 = bool(given["kvcache_scheduler_v1"])
    going_on = decode & ~given["base_model_is_block_step"]
    return {
        "not_need_stop": np.array([live.any()]),
        "stop_flags": ~live,
        "seq_lens_this_time": this.astype(np.int32),
        "seq_lens_encoder": fill(live, enc, 0 * enc),
        "seq_lens_decoder": fill(live, cached, 0 * enc),
        "mask_rollback": (given["mask_rollback"] + again).astype(np.int32),
        "recompute_token_num": fill(decode, given["num_model_step"] - 1 + 0 * enc, given["recompute_token_num"]),
        "is_block_step": (given["is_block_step"] | block) & ~going_on if v1 else given["is_block_step"],
        "batch_drop": given["batch_drop"] if v1 else given["batch_drop"] | block,
    }


def _cleared(inputs: Arrays) -> np.ndarray:
    rows = np.asarray(inputs["base_model_draft_tokens"])
    return np.full(len(rows), not inputs["splitwise_prefill"] and rows.shape[1] > 0)


LAYOUT: Layout = {
    **{name: PerSlot() for name in (*VECTORS, "base_model_seq_lens_encoder")},
    **{name: PerSlot() for name in ("draft_tokens", "input_ids", "pre_ids", "accept_tokens")},
    **{name: PerSlot() for name in ("is_block_step", "batch_drop", "base_model_is_block_step")},
    "stop_flags": PerSlot(idle=1),
    "base_model_stop_flags": PerSlot(idle=1),
    "base_model_draft_tokens": PerSlot(idle=-1),
    "not_need_stop": Whole(),
}

RELATIONS = (
    permute_slots(LAYOUT, "accept_num"),
    insert_idle_slots(LAYOUT, "accept_num"),
    unread("other values where nothing is read", _unread),
    wider_rows({"base_model_draft_tokens": _cleared}, ("draft_tokens", "input_ids", "pre_ids", "accept_tokens")),
    agrees("states of all slots at once", _states),
)


def workload(batch: Batch) -> dict[str, Any]:
    return draft_workloads.accepted(batch, "base_model") | {
        "is_block_step": np.zeros(SLOTS, bool),
        "batch_drop": np.zeros(SLOTS, bool),
        "mask_rollback": np.zeros(SLOTS, np.int32),
        "recompute_token_num": np.zeros(SLOTS, np.int32),
        "base_model_seq_lens_this_time": np.full(SLOTS, max(batch.drafts, 1), np.int32),
        "base_model_is_block_step": np.zeros(SLOTS, bool),
        "truncate_first_token": True,
        "splitwise_prefill": False,
        "kvcache_scheduler_v1": True,
    }


WORKLOADS = index_op(workload)
