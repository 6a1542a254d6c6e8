"""Inputs of speculate_schedule_cache: look-ahead blocks there and missing, prompts that go on, stopped slots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import block_scheduling, edges
from opgold.cases.block_scheduling import attribute_faults, cached_lengths
from opgold.cases.draft_rows import INT32, INT64, anything, fill, flags, kinds, noise, put, wide_ids, with_fault
from opgold.cases.relations import Arrays, Layout, Relation, Whole, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.step_slots import THIS, Slots, more_slots, too_many_slots, with_tails, wrong_values
from opgold.cases.workload import PREFILL, SLOTS, Batch, index_op

LENGTHS = ("prompt_lens", THIS, "seq_lens_encoder", "seq_lens_decoder")
VECTORS = (
    "prompt_lens",
    "seq_lens_encoder",
    "seq_lens_decoder",
    "step_seq_lens_decoder",
    "step_seq_lens_this_time",
    "accept_num",
)
ROWS = ("draft_tokens", "block_tables", "step_draft_tokens", "accept_tokens")
SLOT_ARRAYS = (*VECTORS, *ROWS, "stop_flags", "is_block_step")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does = draw(kinds(("decode", "decode", "decode", "unfinished", "last chunk", "stopped"), min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, runs = len(does), does != "stopped"
    inputs: dict[str, Any] = draw(block_scheduling.tables(rng, bsz))
    cached = cached_lengths(inputs, rng)
    cached = np.where((does == "decode") & flags(rng, bsz, 0.05), INT32.max, cached)
    later = cached + np.where(flags(rng, bsz), 1, rng.choice([9, 2**32, INT64.max - INT32.max], bsz))
    prompt = np.where(does == "unfinished", later, np.where(flags(rng, bsz), cached, rng.integers(0, cached + 1)))
    enc = np.where(np.isin(does, ("unfinished", "last chunk")), rng.integers(1, 9, bsz), 0)
    drafts, accepts = draw(edges.sizes(0, 40, usual=7)), draw(edges.sizes(0, 40, usual=7))
    inputs |= {
        "draft_tokens": wide_ids(rng, bsz, drafts),
        "stop_flags": ~runs,
        "prompt_lens": fill(runs, prompt, anything(rng, bsz, INT64), np.int64),
        THIS: fill(runs, np.where(flags(rng, bsz, 0.1), INT32.max, rng.integers(0, 9, bsz)), anything(rng, bsz)),
        "seq_lens_encoder": fill(runs, enc, anything(rng, bsz)),
        "seq_lens_decoder": fill(runs, cached, anything(rng, bsz)),
        "step_seq_lens_decoder": anything(rng, bsz).astype(np.int32),
        "step_draft_tokens": wide_ids(rng, bsz, drafts),
        "step_seq_lens_this_time": anything(rng, bsz).astype(np.int32),
        "accept_num": anything(rng, bsz).astype(np.int32),
        "accept_tokens": wide_ids(rng, bsz, accepts),
        "is_block_step": flags(rng, bsz, 0.3),
        "not_need_stop": flags(rng, 1),
        "prefill_one_step_stop": draw(st.sampled_from([False, False, False, True])),
    }
    behind = draw(st.sampled_from([0, 0, 1, 3, 40]))
    inputs = with_tails(inputs, SLOT_ARRAYS, behind, rng)
    count = int(_stopped(inputs).sum()) + behind
    nums = draw(st.sampled_from([count - 1, count, count + 1, count + 1, 0, 2**32 + count, INT64.min, INT64.max]))
    return Sample({**inputs, "stop_nums": np.array([nums])})


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Wrong lengths, ids and attributes in slots that are not stopped, anything at all in every slot."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    runs, looks = ~inputs["stop_flags"][: len(inputs[THIS])], _blocked(inputs)
    column = (inputs["seq_lens_decoder"].astype(np.int64) + block_scheduling.ahead(inputs)) // inputs["block_size"]

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, [*VECTORS, THIS], draw(edges.seeds()))
        return wild | put(inputs, "stop_flags", 0, 0) | put(wild, "seq_lens_decoder", 0, INT32.min)

    def bad_id(slot: int) -> dict[str, Any]:
        table = inputs["block_tables"].copy()
        table[slot, column[slot]] = draw(st.sampled_from([-2, INT32.min]))
        return {"block_tables": table}

    faults = [
        *attribute_faults(),
        (np.ones(1, bool), chaos),
        (np.ones(1, bool), lambda _: too_many_slots(inputs, len(inputs["stop_flags"]))),
        (looks, bad_id),
        (looks, bad_id),
    ]
    faults += [fault for name in LENGTHS for fault in wrong_values(inputs, runs, name, [-1, -9])]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


def _ends(inputs: Arrays) -> np.ndarray:
    bsz = len(np.asarray(inputs[THIS]))
    unfinished = np.asarray(inputs["seq_lens_decoder"])[:bsz] < np.asarray(inputs["prompt_lens"])[:bsz]
    ends = unfinished | bool(inputs.get("prefill_one_step_stop", False))
    return np.asarray(~np.asarray(inputs["stop_flags"])[:bsz] & ends)


def _blocked(inputs: Arrays) -> np.ndarray:
    bsz = len(np.asarray(inputs[THIS]))
    goes_on = ~np.asarray(inputs["stop_flags"])[:bsz] & ~_ends(inputs)
    return np.asarray(goes_on & block_scheduling.missing(inputs, np.asarray(inputs["seq_lens_decoder"])[:bsz]))


def _stopped(inputs: Arrays) -> np.ndarray:
    """Which slots of the step are stopped in the end."""
    before = np.asarray(inputs["stop_flags"])[: len(np.asarray(inputs[THIS]))]
    return np.asarray(before | _ends(inputs) | _blocked(inputs))


def _at_once(inputs: Arrays) -> Arrays:
    after = {name: np.array(inputs[name]) for name in (*SLOT_ARRAYS, THIS)}
    ends, blocked = _ends(inputs), _blocked(inputs)
    which = {"ends": np.flatnonzero(ends), "blocked": np.flatnonzero(blocked)}
    acts = np.flatnonzero(ends | blocked)
    for saved, name in (
        ("step_seq_lens_decoder", "seq_lens_decoder"),
        ("step_seq_lens_this_time", THIS),
        ("step_draft_tokens", "draft_tokens"),
    ):
        after[saved][which["blocked"]] = np.asarray(inputs[name])[which["blocked"]]
    after["accept_tokens"][which["blocked"]] = -1
    after["is_block_step"][which["blocked"]] = True
    after["seq_lens_encoder"][which["ends"]] = 0
    after["stop_flags"][acts] = True
    for name in ("seq_lens_decoder", THIS, "accept_num"):
        after[name][acts] = 0
    runs = np.count_nonzero(~after["stop_flags"][: len(ends)])
    enough = int(np.asarray(inputs["stop_nums"])[0])
    del after["prompt_lens"], after["draft_tokens"], after["block_tables"]
    return {**after, "not_need_stop": np.array([len(after["stop_flags"]) - runs < enough])}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other prompts and tables of stopped slots, other drafts of slots that are not blocked, another flag."""
    bsz, table = len(inputs[THIS]), np.asarray(inputs["block_tables"])
    idle = np.asarray(inputs["stop_flags"]) | (np.arange(len(table)) >= bsz)
    saved = np.zeros(len(table), bool)
    saved[:bsz] = _blocked(inputs)
    drafts, other = np.asarray(inputs["draft_tokens"]), noise(inputs, ["prompt_lens"], rng)["prompt_lens"]
    return {
        "prompt_lens": np.where(idle, other, inputs["prompt_lens"]),
        "block_tables": np.where(idle[:, None], -1, table).astype(np.int32),
        "draft_tokens": np.where(saved[:, None], drafts, wide_ids(rng, *drafts.shape)),
        "not_need_stop": flags(rng, 1),
    }


def _more_drafts(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """Drafts more by d, and lengths less by 2 d: the look-ahead ends where it did."""
    more = int(rng.integers(1, 9))
    lengths = np.asarray(sample.inputs["seq_lens_decoder"])
    runs = ~np.asarray(sample.inputs["stop_flags"])
    runs[len(sample.inputs[THIS]) :] = False
    if np.any(runs & (lengths < 2 * more)) or np.any(np.asarray(sample.inputs["prompt_lens"])[runs] < 2 * more):
        return None
    shift = np.where(runs, 2 * more, 0)
    changed = {
        "max_draft_tokens": sample.inputs["max_draft_tokens"] + more,
        "seq_lens_decoder": (lengths - shift).astype(np.int32),
        "prompt_lens": np.asarray(sample.inputs["prompt_lens"]) - shift,
    }
    return replace(sample, inputs={**sample.inputs, **changed})


def _kept_by_shift(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
    kept = ("stop_flags", "is_block_step", THIS, "step_draft_tokens", "accept_tokens", "accept_num", "not_need_stop")
    return {name: outputs[name] for name in kept}


def _numbered(inputs: Arrays, more: int) -> dict[str, Any]:
    """As many more stopped slots suffice."""
    return {"stop_nums": np.clip(np.asarray(inputs["stop_nums"]), -(2**40), 2**40) + more}


LAYOUT: Layout = {
    **{name: Slots() for name in (*SLOT_ARRAYS, THIS)},
    "stop_flags": Slots(idle=1),
    "not_need_stop": Whole(),
    "stop_nums": Whole(),
}


def _idle_count(relation: Relation) -> Relation:
    """The three idle slots that the relation inserts are stopped."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        other = relation.transform(sample, rng)
        return other and replace(other, inputs={**other.inputs, **_numbered(sample.inputs, 3)})

    return replace(relation, transform=transform)


RELATIONS = (
    permute_slots(LAYOUT, THIS),
    _idle_count(insert_idle_slots(LAYOUT, THIS)),
    more_slots(SLOT_ARRAYS, change=_numbered),
    unread("other values where nothing is read", _unread),
    Relation("a draft more is a look-ahead of two tokens more", _more_drafts, _kept_by_shift),
    agrees("all slots at once", _at_once),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    columns = PREFILL // 64
    table = np.arange(SLOTS * columns, dtype=np.int32).reshape(SLOTS, columns)
    own = (batch.dec + 2 * batch.drafts + 2) // 64 + (rng.random(SLOTS) < 0.9)
    table[np.arange(columns) >= own[:, None]] = -1
    return {
        "draft_tokens": batch.ids(SLOTS, batch.drafts),
        "block_tables": table,
        "stop_flags": np.zeros(SLOTS, bool),
        "prompt_lens": np.full(SLOTS, 90),
        THIS: batch.this,
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "step_seq_lens_decoder": np.zeros(SLOTS, np.int32),
        "step_draft_tokens": batch.ids(SLOTS, batch.drafts),
        "step_seq_lens_this_time": np.zeros(SLOTS, np.int32),
        "accept_num": np.full(SLOTS, batch.drafts, np.int32),
        "accept_tokens": batch.ids(SLOTS, batch.drafts),
        "is_block_step": np.zeros(SLOTS, bool),
        "not_need_stop": np.zeros(1, bool),
        "stop_nums": np.array([SLOTS]),
        "block_size": 64,
        "max_draft_tokens": batch.drafts,
    }


WORKLOADS = index_op(workload)
