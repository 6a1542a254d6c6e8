"""Inputs of reasoning_phase_token_constraint: tails of the two ids that matter, all statuses, stray allowed ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, histories, payload
from opgold.cases.draft_rows import INT32, INT64, anything, flags, put, with_fault
from opgold.cases.hidden import DTYPES
from opgold.cases.relations import Arrays, Layout, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import DECODE, SLOTS, Batch, Workload

KINDS = ("thinking", "boundary", "answer", "done")
VOCABULARIES = (1, 2, 3, 7, 8, 9, 33, 64, 129, 513)
WIDE_VOCABULARIES = (1025, 65535, 65536, 65537, 70001)
END, BREAK = 7, 9
PATTERN = (BREAK, END, BREAK, BREAK)


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does, slots = draw(histories.slots(KINDS, min_slots=min_slots))
    rng, layout = draw(edges.seeds()), draw(st.sampled_from(histories.LAYOUTS))
    bsz = len(does)
    rows = rng.choice([0, 1, 1, 2, 5], bsz)
    packed, count = draw(histories.output_rows(rows))
    wide = count <= 2 and draw(st.integers(0, 3)) == 0
    vocab = draw(st.sampled_from(WIDE_VOCABULARIES if wide else VOCABULARIES))
    seen = draw(histories.histories(slots, layout, np.array([END, BREAK, BREAK, 5, END + 2**32]), largest=33))
    steps, ids = seen.pop("steps"), seen["token_ids_all"]
    for b in np.flatnonzero(rng.random(slots) < 0.4):
        end = int(seen["prompt_lens"][b] + steps[b]) + layout
        ids[b, max(0, end - 4) : end] = PATTERN[-min(4, end) :] if end else []
    status = anything(rng, slots).astype(np.int32)
    status[:bsz] = [KINDS.index(name) for name in does]
    outside = [-1, vocab, 2**32, 2**32 + 1, int(INT64.min), int(INT64.max)]
    allowed = rng.integers(0, vocab, draw(st.sampled_from([0, 1, 2, 32, 33, 600])))
    stray = rng.random(len(allowed)) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    return Sample(
        {
            **packed,
            **seen,
            "logits": payload.hidden(rng, draw(st.sampled_from(DTYPES)), count, vocab),
            "stop_flags": flags(rng, slots, 0.2),
            "seq_lens_this_time": anything(rng, bsz).astype(np.int32),
            "seq_lens_encoder": rng.integers(-1, 3, slots).astype(np.int32),
            "step_idx": steps,
            "allowed_tokens": np.where(stray, rng.choice(outside, len(allowed)), allowed),
            "reasoning_status": status,
            "enable_thinking": flags(rng, slots),
            "think_end_id": END,
            "line_break_id": BREAK,
            "history_layout": layout,
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: batch ids, statuses, and history outside its row where it is read."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    rows, width, bsz = len(inputs["logits"]), inputs["token_ids_all"].shape[1], len(inputs["seq_lens_this_time"])
    reads = ~inputs["stop_flags"][:bsz] & (inputs["reasoning_status"][:bsz] <= 1)
    live = np.isin(np.arange(bsz), inputs["batch_id_per_token_output"][:rows])
    far = [width + 1, int(INT64.max), int(INT64.min), -1]
    wrong_status = [-1, 4, int(INT32.max), int(INT32.min)]
    faults = [
        (
            np.full(1, rows > 0),
            lambda _: {"batch_id_per_token_output": inputs["batch_id_per_token_output"][: rows - 1]},
        ),
        (np.ones(1, bool), lambda _: {"history_layout": draw(st.sampled_from([-1, 2]))}),
        (np.ones(bsz, bool), lambda slot: put(inputs, "reasoning_status", slot, draw(st.sampled_from(wrong_status)))),
        (np.full(1, rows > 0), lambda _: draw(histories.wrong_row_slot(inputs))),
        (reads, lambda slot: put(inputs, "step_idx", slot, draw(st.sampled_from(far)))),
        (reads, lambda slot: put(inputs, "prompt_lens", slot, draw(st.sampled_from(far)))),
        (live, lambda slot: put(inputs, "cu_seqlens_q_output", slot + 1, draw(st.sampled_from([-1, int(INT32.min)])))),
        (
            live,
            lambda slot: put(inputs, "cu_seqlens_q_output", slot, draw(st.sampled_from([rows + 1, int(INT32.max)]))),
        ),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


PER_SLOT = ("token_ids_all", "prompt_lens", "stop_flags", "seq_lens_this_time", "seq_lens_encoder", "step_idx")
LAYOUT: Layout = histories.layout_of(*PER_SLOT, "reasoning_status", "enable_thinking")


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other ids everywhere but in the last four entries; other lengths that are only counted."""
    ids = np.array(inputs["token_ids_all"])
    for row, prompt, step in zip(ids, inputs["prompt_lens"], inputs["step_idx"], strict=True):
        end = int(prompt) + int(step) + inputs.get("history_layout", 0)
        read = np.arange(len(row))
        kept = (read >= max(int(prompt), end - 4)) & (read < end)
        row[~kept] = rng.choice([END, BREAK], (~kept).sum())
    return {
        "token_ids_all": ids,
        "seq_lens_this_time": anything(rng, len(inputs["seq_lens_this_time"])).astype(np.int32),
    }


def _allowed_again(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """The allowed ids in another order, and each twice."""
    return {"allowed_tokens": rng.permutation(np.tile(inputs["allowed_tokens"], 2))}


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    unread("other values where nothing is read", _unread),
    unread("allowed tokens twice", _allowed_again),
)


def _workload(vocab: int, status: int) -> Any:
    def inputs(batch: Batch) -> dict[str, Any]:
        rng = np.random.default_rng(5)
        prompts = rng.integers(100, 1000, SLOTS)
        return {
            "logits": np.zeros((int(batch.rows.sum()), vocab), np.float32),
            "token_ids_all": rng.integers(100, 1000, (SLOTS, 2048)),
            "prompt_lens": prompts,
            "stop_flags": np.zeros(SLOTS, bool),
            "seq_lens_this_time": batch.this,
            "seq_lens_encoder": batch.enc,
            "step_idx": rng.integers(100, 1000, SLOTS),
            "allowed_tokens": np.arange(2),
            "reasoning_status": np.full(SLOTS, status, np.int32),
            "batch_id_per_token_output": np.repeat(np.arange(SLOTS), batch.rows).astype(np.int32),
            "cu_seqlens_q_output": batch.cu_seqlens_q_output,
            "enable_thinking": np.ones(SLOTS, bool),
            "think_end_id": END,
            "line_break_id": BREAK,
        }

    return inputs


WORKLOADS = (
    Workload(DECODE, _workload(1024, 0), 3),
    Workload(Batch("256 slots x 5 tokens, all at the boundary", drafts=5), _workload(1024, 1), 3),
    Workload(Batch("256 slots, 8,192 tokens", drafts=32), _workload(32, 0), 50_000, "us"),
)
