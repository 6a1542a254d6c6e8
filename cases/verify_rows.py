"""Slots whose drafts are verified: how many are accepted, and what ends a slot, is drawn first; arrays follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import INT32, INT64, Fault, anything, cut, fill, flags, kinds, put, wide_ids
from opgold.cases.relations import Arrays
from opgold.cases.slots import prefix_sum
from opgold.cases.workload import SLOTS, Batch

KINDS = ("decode", "decode", "decode", "decode", "prompt", "idle", "stopped", "blocked")
FLOATS = (np.nan, np.inf, -0.0, 0.0, 1e-45, 3e38, -0.5)


def accept(row: dict[str, np.ndarray], drafts: np.ndarray, count: int, window: int, rng: np.random.Generator) -> None:
    """Lets about `count` of the drafts pass, by target and by candidates. `row` holds views of the slot's rows."""
    targets, ids, lens = row["targets"], row["ids"], row["lens"]
    width = ids.shape[1]
    later = flags(rng, len(drafts)) & (np.arange(len(drafts)) > count)  # would be accepted, if it came to them
    passing = (np.arange(len(drafts)) < count) | later
    targets[:-1] = np.where(passing, drafts, targets[:-1])
    i = 0
    while i < len(drafts):
        end = min(i + window + 1, len(drafts))
        if width >= 2 and rng.random() < (0.3 if i < count else 0.5):
            ids[i, 1], lens[i] = drafts[i], rng.integers(-1, 2)
            ids[i + 1 : end, 0] = drafts[i + 1 : end]
            lens[i + 1 : end] *= flags(rng, end - i - 1)
            if i >= count and end > i + 1:  # the window does not hold to its end
                ids[end - 1, 0] = 7
            i = end
        else:
            rank = int(rng.integers(0, width))
            ids[i, rank] = drafts[i]
            lens[i] = rng.integers(rank + 1, width + 3) if passing[i] else rng.integers(-1, rank + 1)
            i += 1


@st.composite
def rows(draw: st.DrawFn, *, min_slots: int = 0) -> dict[str, Any]:
    """The arrays of a step, by names of this module; `live` tells which slots verify."""
    does = draw(kinds(KINDS, min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, behind = len(does), draw(st.integers(0, 2))
    longest = draw(edges.sizes(1, 70, usual=8))
    window, candidates = draw(st.sampled_from([0, 1, 1, 2, 3, 40])), draw(edges.sizes(1, 40, usual=10))
    decode, prompt = does == "decode", does == "prompt"
    live = decode | prompt | (does == "idle")
    n = np.where(decode, rng.integers(1, longest + 1, bsz), np.where(prompt, rng.integers(1, 9, bsz), 0))
    counts = np.where(decode, n, np.where(live, prompt, rng.integers(0, 3, bsz)))
    starts = prefix_sum(counts)
    width, total = max(longest + draw(st.integers(0, 2)), 1), int(starts[-1]) + draw(st.integers(0, 3))
    ends = wide_ids(rng, draw(edges.sizes(0, 33, usual=3)))

    tokens, targets = wide_ids(rng, bsz + behind, width), wide_ids(rng, total)
    ids, lens = wide_ids(rng, total, candidates), rng.integers(-1, candidates + 2, total).astype(np.int32)
    if len(ends):
        tokens = np.where(rng.random(tokens.shape) < 0.07, rng.choice(ends, tokens.shape), tokens)
        targets = np.where(rng.random(total) < 0.15, rng.choice(ends, total), targets)
        ids = np.where(rng.random(ids.shape) < 0.1, rng.choice(ends, ids.shape), ids)
    scores = -np.sort(-rng.random((total, candidates), np.float32) / np.float32(candidates), axis=1)
    scores[flags(rng, total, 0.1)] = np.float32(0.0625)
    scores = np.where(rng.random(scores.shape) < 0.03, rng.choice(np.array(FLOATS, np.float32), scores.shape), scores)
    for b in np.flatnonzero(decode):
        drafts = tokens[b, 1 : n[b]]
        some = int(rng.integers(0, len(drafts) + 1))
        count = rng.choice((0, some, some, len(drafts), len(drafts)))
        rows_of_slot = slice(starts[b], starts[b + 1])
        parts = {"targets": targets[rows_of_slot], "ids": ids[rows_of_slot], "lens": lens[rows_of_slot]}
        accept(parts, drafts, count, window, rng)

    step = np.where(
        rng.random(bsz + behind) < 0.8, rng.integers(0, 100, bsz + behind), anything(rng, bsz + behind, INT64)
    )
    room = rng.integers(1, longest + 3, bsz + behind) if len(ends) else np.full(bsz + behind, longest + 1)
    far = flags(rng, bsz + behind, 0.6)
    if len(ends) == 0:
        step = np.where(step > 1000, 5, step)
    limit = np.where(far, INT64.max, np.where(step > 1000, step, step + room))
    return {
        "live": live,
        "tokens": tokens,
        "targets": targets,
        "ids": ids,
        "scores": scores,
        "lens": lens,
        "topp": _marks(rng, scores, starts, bsz + behind),
        "uniforms": _uniforms(rng, bsz),
        "stopped": np.concatenate([does == "stopped", flags(rng, behind)]),
        "blocked": np.concatenate([(does == "blocked") | ((does == "stopped") & flags(rng, bsz)), flags(rng, behind)]),
        "enc": np.concatenate([fill(live, np.where(prompt, n, 0), anything(rng, bsz)), _any32(rng, behind)]),
        "this": fill(live, n, anything(rng, bsz)),
        "starts": starts,
        "reasoning": np.where(flags(rng, bsz + behind, 0.1), 1, rng.choice([0, 0, 2, 3], bsz + behind)).astype(
            np.int32
        ),
        "limit": limit,
        "step": step,
        "ends": ends,
        "window": window,
        "old_tokens": wide_ids(rng, bsz + behind, width),
        "old_lens": _any32(rng, bsz + behind),
    }


def _any32(rng: np.random.Generator, count: int) -> np.ndarray:
    return anything(rng, count, INT32).astype(np.int32)


def _uniforms(rng: np.random.Generator, count: int) -> np.ndarray:
    """0 to 1, both ends and the least number above 0 included."""
    special = rng.choice(np.array([0, 1, 1, 1e-45, 0.5], np.float32), count)
    return np.where(rng.random(count) < 0.5, special, rng.random(count, np.float32))


def _marks(rng: np.random.Generator, scores: np.ndarray, starts: np.ndarray, count: int) -> np.ndarray:
    """Top-p of slots: any, special values, or the very sum of some ranks of one of the slot's rows."""
    top_p = np.where(
        rng.random(count) < 0.1, rng.choice(np.array(FLOATS, np.float32), count), rng.random(count, np.float32)
    )
    for b in np.flatnonzero(np.diff(starts) > 0):
        if rng.random() < 0.4:
            row, rank = rng.integers(starts[b], starts[b + 1]), rng.integers(0, scores.shape[1])
            with np.errstate(all="ignore"):
                top_p[b] = np.cumsum(scores[row], dtype=np.float32)[rank]
    return top_p.astype(np.float32)


def accepted(inputs: Arrays, emitted: np.ndarray) -> list[tuple[int, int]]:
    """Drafts of each decoding slot that has some, and how many were accepted: the `emitted` tokens less the last, which
    is the one behind the drafts, or an end."""
    this = np.asarray(inputs["seq_lens_this_time"])
    idle = (np.asarray(inputs["stop_flags"]) | inputs["is_block_step"])[: len(this)]
    decodes = ~idle & (np.asarray(inputs["seq_lens_encoder"])[: len(this)] == 0)
    return [(int(this[b]) - 1, max(0, int(emitted[b]) - 1)) for b in np.flatnonzero(decodes & (this > 1))]


def faults(inputs: Arrays, live: np.ndarray, tokens: tuple[str, str], draw: st.DrawFn) -> list[Fault]:
    """What both verifying ops refuse in live slots; `tokens` names the draft rows and those emitted."""
    this, enc = np.asarray(inputs["seq_lens_this_time"]), np.asarray(inputs["seq_lens_encoder"])[: len(live)]
    sums, width = np.asarray(inputs["cu_seqlens_q_output"]), np.asarray(inputs[tokens[0]]).shape[1]
    decode, running = live & (enc == 0), live & (this > 0)

    def shifted(slot: int) -> dict[str, Any]:
        moved = sums.copy()
        moved[slot : slot + 2] += draw(st.sampled_from([-1 - int(sums[slot]), 10**6]))
        return {"cu_seqlens_q_output": moved}

    def longer_than_its_row(slot: int) -> dict[str, Any]:
        """The sums agree, and there are as many more output rows."""
        extra = width + 1 - int(this[slot])
        moved = np.where(np.arange(len(sums)) > slot, sums + extra, sums).astype(np.int32)
        names = [n for n in OUTPUT_ROWS if inputs.get(n) is not None]
        return {**put(inputs, "seq_lens_this_time", slot, width + 1), "cu_seqlens_q_output": moved} | longer(
            inputs, names, extra
        )

    def endless(slot: int) -> dict[str, Any]:
        limit = draw(st.sampled_from([int(inputs["step_idx"][slot]), INT64.min]))
        return put(inputs, "max_dec_len", slot, limit) | {"end_tokens": np.zeros(0, np.int64)}

    found: list[Fault] = [
        (live, lambda slot: put(inputs, "seq_lens_this_time", slot, draw(st.sampled_from([-1, INT32.min])))),
        (live, lambda slot: put(inputs, "seq_lens_encoder", slot, draw(st.sampled_from([-1, INT32.min])))),
        (decode, lambda slot: put(inputs, "seq_lens_this_time", slot, draw(st.sampled_from([width + 1, INT32.max])))),
        (decode, longer_than_its_row),
        (running, lambda _: cut(inputs, tokens[0], 0) | cut(inputs, tokens[1], 0)),
        (running, endless),
        (live, shifted),
        (live, lambda slot: put(inputs, "cu_seqlens_q_output", slot, int(sums[slot]) + 1)),
        (live, lambda slot: put(inputs, "cu_seqlens_q_output", slot + 1, draw(st.sampled_from([-5, INT32.max])))),
    ]
    return found


OUTPUT_ROWS = (
    "target_tokens",
    "candidate_ids",
    "candidate_scores",
    "candidate_lens",
    "sampled_token_ids",
    "verify_tokens",
    "verify_scores",
    "actual_candidate_len",
)


def faults_of_candidates(inputs: Arrays, live: np.ndarray, names: tuple[str, str], draw: st.DrawFn) -> list[Fault]:
    """What both ops refuse where candidates verify."""

    def wrong_uniform(slot: int) -> dict[str, Any]:
        changed = np.array(inputs["uniforms"])
        changed[slot] = draw(st.sampled_from([-0.25, 1.0000001, np.nan, np.inf]))
        return {"uniforms": changed}

    return [(np.ones(1, bool), lambda _: {n: inputs[n][:, :0].copy() for n in names}), (live, wrong_uniform)]


def longer(inputs: Arrays, names: Sequence[str], extra: int) -> dict[str, Any]:
    """`extra` more output rows behind the others."""
    given = {name: np.asarray(inputs[name]) for name in names if inputs.get(name) is not None}
    return {n: np.concatenate([a, np.full((extra, *a.shape[1:]), 1, a.dtype)]) for n, a in given.items()}


def other_idle_slots(inputs: Arrays, tokens: str, rng: np.random.Generator) -> dict[str, Any]:
    """Other values in slots that are neither live nor written, and in draft columns behind a slot's tokens."""
    bsz, slots = len(inputs["seq_lens_this_time"]), len(inputs["stop_flags"])
    dead = (np.asarray(inputs["stop_flags"]) | inputs["is_block_step"]) | (np.arange(slots) >= bsz)
    changed: dict[str, Any] = {}
    for name in ("seq_lens_encoder", "reasoning_status", "max_dec_len"):
        old = np.asarray(inputs[name])
        changed[name] = fill(~dead, old, anything(rng, slots, np.iinfo(old.dtype)), old.dtype.type)
    old = np.asarray(inputs[tokens])
    used = np.where(dead, 0, np.pad(np.asarray(inputs["seq_lens_this_time"]), (0, slots - bsz)))
    unread = np.arange(old.shape[1]) >= np.maximum(used, 0)[:, None]
    unread[:, :1] = True  # the confirmed token
    changed[tokens] = np.where(unread, wide_ids(rng, *old.shape), old)
    return changed


MATCHING = Batch("256 slots x 5 tokens, target match", drafts=5)
TOP_P = Batch("256 slots x 5 tokens, 10 candidates", drafts=5)


def step(batch: Batch) -> dict[str, Any]:
    """A step of a benchmark: 10 candidates a row; half of the slots accept all of their drafts."""
    rng = np.random.default_rng(5)
    zeros, rows = np.zeros(SLOTS, np.int32), int(batch.rows.sum())
    tokens, targets, ids = batch.ids(SLOTS, batch.drafts), rng.integers(3, 100_000, rows), batch.ids(rows, 10)
    matching = (np.arange(batch.drafts) < rng.integers(1, 2 * batch.drafts, (SLOTS, 1))) & (batch.this[:, None] > 0)
    verified = np.where(matching[:, :-1], tokens[:, 1:], 1)
    targets = np.concatenate([verified, targets.reshape(SLOTS, -1)[:, -1:]], axis=1).ravel()
    ids[np.arange(rows), rng.integers(0, 10, rows)] = targets
    scores = -np.sort(-rng.random((rows, 10), np.float32) / np.float32(6), axis=1)
    return {
        "tokens": tokens,
        "targets": targets,
        "ids": ids,
        "scores": scores,
        "lens": np.full(rows, 10, np.int32),
        "topp": np.full(SLOTS, 0.9, np.float32),
        "uniforms": rng.random(SLOTS, np.float32),
        "stopped": zeros.astype(bool),
        "blocked": zeros.astype(bool),
        "enc": zeros,
        "this": batch.this,
        "starts": batch.cu_seqlens_q_output,
        "reasoning": zeros,
        "limit": np.full(SLOTS, 8192),
        "step": np.full(SLOTS, 100),
        "ends": np.array([2, 1]),
        "window": 2,
        "old_tokens": np.full((SLOTS, batch.drafts), -1),
        "old_lens": zeros,
    }
