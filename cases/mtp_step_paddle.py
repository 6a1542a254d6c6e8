"""Inputs of mtp_step_paddle: ended slots, slots in need of a block, and free blocks round what they need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.hidden import other_values, with_value
from opgold.cases.relations import Arrays, Layout, PerSlot, Relation, Whole, holds, insert_idle_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op

STATES = ("empty", "stopped", "dropped", "needs", "needs", "needs first", "has", "full")
NONE_TO_DROP = ("empty", "stopped", "dropped", "needs first", "needs first", "needs first")
PROMPT_ID = 1_000_000  # ids of prompt blocks, which are not the draft model's


@dataclass(frozen=True)
class _Slot:
    """`prompt` blocks of the prompt, `used` own ones, and the column for the coming tokens."""

    state: str
    prompt: int
    used: int
    column: int

    @property
    def ended(self) -> bool:
        return self.state in ("empty", "stopped", "dropped")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    block_size, ahead = draw(st.sampled_from([1, 2, 4, 16])), draw(st.integers(0, 5))
    least = (ahead + 1) // block_size  # column of a slot without cached tokens
    rng = draw(edges.seeds())

    def slot(state: str) -> _Slot:
        used = 0 if state in ("empty", "needs first") else int(rng.integers(1, 5))
        prompt = max(int(rng.integers(0, 3)), least + (state == "has") - used)
        column = int(rng.integers(least, prompt + used)) if state == "has" else prompt + used
        return _Slot(state, prompt, used, column)

    palette = draw(st.sampled_from([STATES] * 5 + [NONE_TO_DROP]))
    if draw(st.integers(0, 4)) < 4:
        states = draw(st.lists(st.sampled_from(palette), min_size=min_slots, max_size=8))
    else:
        states = list(rng.choice(palette, draw(st.sampled_from(edges.SIZES))))
    slots = [slot(state) for state in states]
    needed = sum(s.state.startswith("needs") for s in slots)
    freed = sum(s.used for s in slots if s.ended)
    wanted = draw(st.sampled_from([needed, needed - 1, needed - 2, needed + 1, needed + 40] + [0] * (len(slots) < 9)))
    return Sample(_inputs(slots, max(0, wanted - freed), block_size, ahead, rng))


def _inputs(slots: list[_Slot], free: int, block_size: int, ahead: int, rng: np.random.Generator) -> dict[str, Any]:
    bsz, own = len(slots), sum(s.used for s in slots)
    width = max([s.column + (s.state.startswith("needs")) for s in slots if s.state != "full"], default=0)
    width = max([width, *(s.prompt + s.used for s in slots)])
    ids = rng.permutation(own + free + int(rng.integers(0, 9)))
    tables, taken = np.full((bsz, width), -1), 0
    for b, s in enumerate(slots):
        tables[b, : s.prompt] = PROMPT_ID + b * width + np.arange(s.prompt)
        tables[b, s.prompt : s.prompt + s.used] = ids[taken : taken + s.used]
        taken += s.used
    stack = rng.integers(-(2**31), 2**31, own + free + int(rng.integers(0, 5)))  # what lies above the top is not read
    stack[:free] = ids[taken : taken + free]
    columns = np.array([width if s.state == "full" else s.column for s in slots], np.int64)
    cached = np.maximum(0, columns * block_size + rng.integers(0, block_size, bsz) - ahead - 1)
    ended = np.array([s.ended for s in slots], bool)
    states = np.array([s.state for s in slots], object)
    return {
        "base_model_stop_flags": (states == "stopped") | (states == "empty"),
        "stop_flags": rng.random(bsz) < 0.5,
        "batch_drop": (states == "dropped") | ((states == "stopped") & (rng.random(bsz) < 0.3)),
        "seq_lens_this_time": rng.integers(0, 7, bsz).astype(np.int32),
        "seq_lens_encoder": rng.integers(-(2**31), 2**31, bsz).astype(np.int32),
        "seq_lens_decoder": np.where(ended, rng.integers(-(2**31), 2**31, bsz), cached).astype(np.int32),
        "block_tables": tables.astype(np.int32),
        "encoder_block_lens": np.array([s.prompt for s in slots], np.int32),
        "used_list_len": np.array([s.used for s in slots], np.int32),
        "free_list": stack.astype(np.int32),
        "free_list_len": np.array([free], np.int32),
        "block_size": block_size,
        "max_draft_tokens": ahead,
    }


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: gaps, holes, ids that stand twice, counts outside their arrays, too small a stack."""
    sample = draw(samples(min_slots=2))
    inputs: dict[str, Any] = dict(sample.inputs)
    used, first, tables = inputs["used_list_len"], inputs["encoder_block_lens"], inputs["block_tables"]
    ended = inputs["base_model_stop_flags"] | inputs["batch_drop"]
    slot = draw(st.integers(0, len(used) - 1))
    owners, stack = np.flatnonzero(used), len(inputs["free_list"])
    faults = ["length", "used", "attributes"] + ["live"] * (not ended.all())
    faults += ["hole", "twice", "first", "stack"] * bool(len(owners)) + ["gap"] * 2 * bool(_needs(inputs).any())
    fault = draw(st.sampled_from(faults))
    if fault == "length":
        inputs["free_list_len"] = np.array([draw(st.sampled_from([-1, stack + 1, *edges.INT32]))], np.int32)
    elif fault == "used":
        inputs = draw(with_value(inputs, "used_list_len", slot, [-1, tables.shape[1] + 1, *edges.INT32]))
    elif fault == "attributes":
        wrong = [{"block_size": 0}, {"block_size": -1}, {"block_size": 2**31}]
        inputs |= draw(st.sampled_from([*wrong, {"max_draft_tokens": -1}, {"max_draft_tokens": 2**31}]))
    elif fault == "live":
        slot = int(draw(st.sampled_from(list(np.flatnonzero(~ended)))))
        inputs = draw(with_value(inputs, "seq_lens_decoder", slot, list(edges.INT32[:2])))
    elif fault == "gap":
        slot = int(draw(st.sampled_from(list(np.flatnonzero(_needs(inputs))))))
        inputs = draw(with_value(inputs, "encoder_block_lens", slot, [int(first[slot]) + 1, int(first[slot]) - 1]))
    elif fault == "first":
        slot = int(draw(st.sampled_from(list(owners))))
        inputs = draw(with_value(inputs, "encoder_block_lens", slot, [-1, tables.shape[1], *edges.INT32]))
    elif fault == "stack":
        inputs["free_list"] = inputs["free_list"][: int(inputs["free_list_len"][0] + used.sum()) - 1]
    else:
        slot = int(draw(st.sampled_from(list(owners))))
        cell = (slot, int(first[slot]))
        others = [int(inputs["free_list"][0])] * int(inputs["free_list_len"][0] > 0)
        others += [int(tables[b, first[b]]) for b in owners if b != slot][:3]
        inputs["block_tables"] = tables.copy()
        wrong_ids = others if fault == "twice" and others else [-1, -2, -(2**31)]
        inputs["block_tables"][cell] = draw(st.sampled_from(wrong_ids))
    return replace(sample, inputs=inputs)


def _needs(inputs: Arrays) -> np.ndarray:
    """Which slots need a block."""
    tables, ended = np.asarray(inputs["block_tables"]), inputs["base_model_stop_flags"] | inputs["batch_drop"]
    cached = np.where(ended, 0, inputs["seq_lens_decoder"]).astype(np.int64)
    column = (cached + inputs["max_draft_tokens"] + 1) // inputs["block_size"]
    inside = ~ended & (column < tables.shape[1])
    return np.asarray(
        inside & (np.pad(tables, ((0, 0), (0, 1)))[np.arange(len(tables)), np.where(inside, column, 0)] == -1)
    )


def _blocks(arrays: Arrays, names: Arrays) -> np.ndarray:
    """Free and own ids, sorted. Own ones by `arrays`, their columns by `names` where a slot still has some."""
    tables, used = np.asarray(arrays["block_tables"]), np.asarray(arrays["used_list_len"])
    first = np.asarray(names["encoder_block_lens"])
    own = [tables[b, first[b] : first[b] + used[b]] for b in np.flatnonzero(used)]
    return np.sort(np.concatenate([np.asarray(arrays["free_list"])[: arrays["free_list_len"][0]], *own]))


def _conserved(inputs: Arrays, outputs: Arrays) -> bool:
    return np.array_equal(_blocks(inputs, inputs), _blocks({**inputs, **outputs}, inputs))


def _all_or_nothing(inputs: Arrays, outputs: Arrays) -> bool:
    """On success no slot in need is left; else every array is as it was."""
    after = {**inputs, **outputs}
    if outputs["status"][0] == 1:
        return not _needs(after).any()
    return bool(outputs["status"][0] == 0) and all(
        np.array_equal(value, np.asarray(inputs[name])) for name, value in outputs.items() if name in inputs
    )


def _no_drop_too_many(inputs: Arrays, outputs: Arrays) -> bool:
    """Without the slot that fell last, the free blocks would not have sufficed."""
    fallen = np.flatnonzero(np.asarray(outputs["batch_drop"]) & ~np.asarray(inputs["batch_drop"]))
    if not len(fallen) or outputs["status"][0] != 1:
        return True
    used = np.asarray(inputs["used_list_len"])
    last = max(fallen, key=lambda b: (-int(used[b]), b))
    needed = int(_needs(inputs).sum()) - int(_needs(inputs)[[b for b in fallen if b != last]].sum())
    ended = np.asarray(inputs["base_model_stop_flags"]) | np.asarray(inputs["batch_drop"])
    others = int(used[[b for b in fallen if b != last]].sum())
    return needed > int(inputs["free_list_len"][0]) + int(used[ended].sum()) + others


LAYOUT: Layout = {
    "base_model_stop_flags": PerSlot(idle=1),
    "stop_flags": PerSlot(),
    "batch_drop": PerSlot(),
    "seq_lens_this_time": PerSlot(),
    "seq_lens_encoder": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "block_tables": PerSlot(idle=-1),
    "encoder_block_lens": PerSlot(),
    "used_list_len": PerSlot(),
    "free_list": Whole(),
    "free_list_len": Whole(),
    "status": Whole(),
}


def _other_names() -> Relation:
    """Blocks of other ids are moved alike."""

    def renamed(arrays: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        by = int(rng.integers(1, 1000))
        tables, stack = np.asarray(arrays["block_tables"]), np.asarray(arrays["free_list"]).astype(np.int64)
        tables = np.where(tables == -1, tables, tables + by).astype(np.int32)
        return {**arrays, "block_tables": tables, "free_list": (stack + by).astype(np.int32)}

    return Relation(
        "other block ids",
        lambda sample, rng: replace(sample, inputs=renamed(sample.inputs, rng)),
        lambda sample, outputs, rng: renamed(outputs, rng),
    )


def _deeper_stack() -> Relation:
    """Free blocks below those that were enough change nothing."""

    def deeper(arrays: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        below = PROMPT_ID * 2 + np.arange(int(rng.integers(1, 40)))
        stack = np.append(below, arrays["free_list"]).astype(np.int32)
        return {**arrays, "free_list": stack, "free_list_len": arrays["free_list_len"] + np.int32(len(below))}

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        enough = outputs["status"][0] == 1 and np.array_equal(outputs["batch_drop"], sample.inputs["batch_drop"])
        return deeper(outputs, rng) if enough else {}

    return Relation("a deeper stack", lambda sample, rng: replace(sample, inputs=deeper(sample.inputs, rng)), expect)


RELATIONS = (
    insert_idle_slots(LAYOUT, "used_list_len"),
    holds("no block is lost or doubled", "free_list", _conserved),
    holds("every need is met, or nothing is changed", "status", _all_or_nothing),
    holds("no slot falls that need not", "batch_drop", _no_drop_too_many),
    _other_names(),
    _deeper_stack(),
    unread("other encoder lengths", other_values("seq_lens_encoder")),
)


def workload(batch: Batch) -> dict[str, Any]:
    """A slot in eight has stopped, one in eight needs a block."""
    rng = np.random.default_rng(4)
    states = ["stopped", "needs", *["has"] * 6] * (SLOTS // 8)
    return _inputs([_Slot(state, 4, 8, 12 if state == "needs" else 11) for state in states], SLOTS, 64, 4, rng)


WORKLOADS = index_op(workload)
