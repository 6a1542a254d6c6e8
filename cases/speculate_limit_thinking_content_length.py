"""Inputs of speculate_limit_thinking_content_length: limits met at every token, all statuses, both hit rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, histories
from opgold.cases.draft_rows import INT32, INT64, anything, between, flags, put
from opgold.cases.relations import Arrays, Layout, PerSlot, Relation, Whole, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op

KINDS = ("thinking", "injecting", "done", "replying", "stopped", "none", "off")
THINK_END = 11
SLOT_NAMES = ("max_think_lens", "max_reply_lens", "limit_status", "accept_num", "stop_flags")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does, slots = draw(histories.slots(KINDS, min_slots=min_slots, spare=False))
    rng = draw(edges.seeds())
    width = draw(edges.sizes(1, 129, usual=7)) if slots <= 8 else draw(st.sampled_from([3, 33]))
    items, end_count = draw(st.sampled_from([0, 1, 2, 3, 5])), draw(st.sampled_from([0, 1, 2, 32, 33]))
    ends = np.arange(end_count) + 100 + rng.choice([0, 2**32])
    accepted = between(rng, np.ones(slots, np.int64), np.full(slots, width))
    step = accepted + rng.integers(0, 6, slots)
    tokens = rng.integers(1000, 2000, (slots, width)) + rng.choice([0, 2**32], (slots, width))
    coin = rng.random((slots, width))
    rare = draw(st.sampled_from([0.03, 0.15]))
    tokens[coin < rare] = THINK_END
    tokens[coin > 1 - rare / 2] = THINK_END + 2**32
    if end_count:
        tokens = np.where((coin > 0.5) & (coin < 0.5 + rare), rng.choice(ends, tokens.shape), tokens)
    think = np.where(
        rng.random(slots) < 0.3,
        rng.choice([-1, 0, INT32.min], slots),
        step - accepted + rng.integers(-1, width + 2, slots),
    )
    replied = rng.integers(0, 5, slots)
    reply = np.where(
        rng.random(slots) < 0.3,
        rng.choice([-1, 0, INT32.max - items - 4, INT32.min], slots),
        replied + rng.integers(-2, width + 1, slots),
    )
    status = np.select(
        [does == "thinking", does == "injecting", does == "done"],
        [
            np.where(rng.random(slots) < 0.1, rng.choice([-1, INT32.min], slots), 0),
            rng.integers(1, items + 2, slots),
            items + 1,
        ],
        items + 2 + replied,
    )
    off = does == "off"
    think, reply = np.where(off, -1, think), np.where(off, -2, reply)
    return Sample(
        {
            "next_tokens": tokens,
            "max_think_lens": think.astype(np.int32),
            "max_reply_lens": reply.astype(np.int32),
            "step_idx": step,
            "limit_status": status.astype(np.int32),
            "accept_num": np.where(does == "none", -rng.integers(0, 2, slots), accepted).astype(np.int32),
            "stop_flags": does == "stopped",
            "eos_token_ids": ends,
            "inject_token_ids": np.arange(items) + 500 + 2**33,
            "think_end_id": THINK_END,
            "splitwise_role_is_decode": draw(st.booleans()),
            "hit_at_limit": draw(st.booleans()),
        }
    )


def _walked(inputs: Arrays) -> np.ndarray:
    limited = (inputs["max_think_lens"] >= 0) | (inputs["max_reply_lens"] >= 0)
    return np.asarray((inputs["accept_num"] > 0) & ~inputs["stop_flags"] & limited)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in a slot that is walked."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    slot = draw(st.integers(0, len(inputs["stop_flags"]) - 1))
    inputs |= put(inputs, "stop_flags", slot, 0) | put(inputs, "max_think_lens", slot, draw(st.sampled_from([0, 2, 9])))
    inputs |= put(inputs, "accept_num", slot, max(1, int(inputs["accept_num"][slot])))
    width, count = inputs["next_tokens"].shape[1], int(inputs["accept_num"][slot])
    inputs["step_idx"] = np.maximum(inputs["step_idx"], inputs["accept_num"])
    limit = int(INT32.max) - len(inputs["inject_token_ids"]) - 4
    faults = [
        ("accept_num", [width + 1, int(INT32.max)]),
        ("step_idx", [count - 1, 0, -1, int(INT64.min)]),
        ("max_reply_lens", [limit + 1, int(INT32.max)]),
    ]
    name, values = draw(st.sampled_from(faults))
    chaos = {"limit_status": anything(draw(edges.seeds()), len(inputs["limit_status"])).astype(np.int32)}
    inputs |= chaos if draw(st.booleans()) else {}
    return replace(sample, inputs={**inputs, **put(inputs, name, slot, draw(st.sampled_from(values)))})


LAYOUT: Layout = {
    **{name: PerSlot() for name in (*SLOT_NAMES, "next_tokens", "step_idx")},
    "eos_token_ids": Whole(),
    "inject_token_ids": Whole(),
}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other values of slots that are not walked, where they are not kept; other steps under a limit never met."""
    walked = _walked(inputs)
    ends = np.array(inputs["eos_token_ids"])
    tail = rng.permutation(ends[1:])
    return {
        "max_think_lens": np.where(walked | (inputs["accept_num"] > 0), inputs["max_think_lens"], 3).astype(np.int32),
        "eos_token_ids": np.concatenate([ends[:1], tail]),
    }


def _later(sample: Sample, rng: np.random.Generator) -> Sample:
    """Everything some steps later, with a think limit as much longer."""
    inputs, by = sample.inputs, int(rng.integers(1, 50))
    think = np.asarray(inputs["max_think_lens"], np.int64)
    limits = np.where(think > 0, think + by, think).astype(np.int32)
    return replace(sample, inputs={**inputs, "max_think_lens": limits, "step_idx": inputs["step_idx"] + by})


def _later_outputs(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
    return {**outputs, "step_idx": outputs["step_idx"] + int(rng.integers(1, 50))}


def _other_rule(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """A limit is hit a step earlier under the rule step == limit."""
    inputs, earlier = sample.inputs, sample.inputs.get("hit_at_limit", False)
    think = np.asarray(inputs["max_think_lens"], np.int64)
    shifted = np.where(think > 0, think + (-1 if earlier else 1), think)
    if np.any((think > 0) & (shifted == 0)):
        return None  # 0 is another rule
    return replace(sample, inputs={**inputs, "hit_at_limit": not earlier, "max_think_lens": shifted.astype(np.int32)})


def _one_by_one(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """The first token alone: a walk is a walk for each of its tokens, if the walk gets that far."""
    inputs = sample.inputs
    several = _walked(inputs) & (inputs["accept_num"] > 1)
    counts = np.where(several, 1, inputs["accept_num"]).astype(np.int32)
    step = inputs["step_idx"] - np.where(several, inputs["accept_num"] - 1, 0)
    return replace(sample, inputs={**inputs, "accept_num": counts, "step_idx": step})


def _first_tokens(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
    tokens = np.array(sample.inputs["next_tokens"])
    tokens[:, :1] = outputs["next_tokens"][:, :1]
    return {"next_tokens": tokens}


RELATIONS = (
    permute_slots(LAYOUT, "stop_flags"),
    insert_idle_slots(LAYOUT, "stop_flags"),
    unread("other values where nothing is read", _unread),
    Relation("later", _later, _later_outputs),
    Relation("the other hit rule", _other_rule, lambda sample, outputs, rng: outputs),
    Relation("first tokens alone", _one_by_one, _first_tokens),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "next_tokens": batch.ids(SLOTS, batch.drafts),
        "max_think_lens": np.full(SLOTS, 1000, np.int32),
        "max_reply_lens": np.full(SLOTS, 500, np.int32),
        "step_idx": rng.integers(100, 2000, SLOTS),
        "limit_status": rng.integers(0, 6, SLOTS).astype(np.int32),
        "accept_num": np.full(SLOTS, batch.drafts, np.int32),
        "stop_flags": flags(rng, SLOTS, 0.1),
        "eos_token_ids": np.array([2, 3]),
        "inject_token_ids": np.array([5, 6, 7]),
        "think_end_id": 4,
        "splitwise_role_is_decode": False,
    }


WORKLOADS = index_op(workload)
