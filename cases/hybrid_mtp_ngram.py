"""Inputs of hybrid_mtp_ngram: drafts behind others, texts of few different tokens, both layouts, budgets that cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, histories, ngrams
from opgold.cases.draft_rows import INT32, INT64, Fault, anything, put, wide_ids, wider_rows, with_fault
from opgold.cases.relations import Arrays, Layout, PerSlot, agrees, insert_idle_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, Workload

KINDS = ("tokens", "tokens", "tokens", "full", "idle")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does, slots = draw(histories.slots(KINDS, min_slots=min_slots))
    rng, layout, bsz = draw(edges.seeds()), draw(st.sampled_from(histories.LAYOUTS)), len(does)
    alphabet = histories.alphabets(rng, draw(st.sampled_from([1, 2, 3, 9])))
    prompts, steps = draw(histories.lengths(slots, 129)), draw(histories.lengths(slots))
    slack = draw(st.sampled_from([0, 0, 2]))
    columns = int(prompts.max(initial=0)) + slack, int(steps.max(initial=0)) + layout + slack
    width = draw(edges.sizes(1, 129, usual=8)) if bsz <= 8 else draw(st.sampled_from([1, 4]))
    most = width - 1 - draw(st.sampled_from([0, 0, 1]))
    tokens = np.where(does == "idle", 0, rng.integers(1, max(1, min(most, 4)) + 1, bsz))
    tokens = np.where(does == "full", max(0, most) + 1 + rng.choice([0, 1, 2, 9000], bsz), tokens)
    left = np.where(rng.random(slots) < 0.3, rng.integers(-1, 4, slots), 100)
    shortest = draw(st.sampled_from([1, 1, 2, 3]))
    wanted = int((does == "tokens").sum()) * width
    return Sample(
        {
            "input_ids": rng.choice(alphabet, (slots, columns[0])),
            "input_ids_len": prompts,
            "pre_ids": rng.choice(alphabet, (slots, columns[1])),
            "step_idx": steps,
            "draft_token_num": anything(rng, slots).astype(np.int32),
            "draft_tokens": wide_ids(rng, slots, width),
            "seq_lens_this_time": tokens.astype(np.int32),
            "seq_lens_decoder": anything(rng, slots).astype(np.int32),
            "max_dec_len": steps + left,
            "max_ngram_size": draw(st.sampled_from([1, 2, 3, 5, 33])),
            "min_ngram_size": shortest,
            "max_draft_tokens": most,
            "threshold": draw(ngrams.thresholds(rng, int(tokens.sum()), wanted)),
            "history_layout": layout,
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in a slot that wants drafts, or lengths of any slot."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    bsz = len(inputs["seq_lens_this_time"])
    slot = draw(st.integers(0, bsz - 1))
    width, prompt, history = (inputs[name].shape[1] for name in ("draft_tokens", "input_ids", "pre_ids"))
    wants = put(inputs, "seq_lens_this_time", slot, 1) | put(inputs, "max_dec_len", slot, int(INT64.max))
    live, drafting = np.arange(bsz) == slot, np.full(1, inputs["max_draft_tokens"] > 0)
    far = [int(INT64.max) // 2, int(INT64.min), -1]
    most = [width, width + 100, int(INT64.max)]
    faults: list[Fault] = [
        (live, lambda _: {"seq_lens_this_time": np.zeros(len(inputs["step_idx"]) + 1, np.int32)}),
        (live, lambda _: {"history_layout": draw(st.sampled_from([-1, 2]))}),
        (live, lambda _: {"min_ngram_size": draw(st.sampled_from([0, -1, int(INT64.min)]))}),
        (live, lambda b: put(inputs, "seq_lens_this_time", b, draw(st.sampled_from([-1, int(INT32.min)])))),
        (live, lambda _: wants | {"max_draft_tokens": draw(st.sampled_from(most))}),
        (drafting, lambda _: wants | put(inputs, "step_idx", slot, draw(st.sampled_from([history + 1, *far])))),
        (drafting, lambda _: wants | put(inputs, "input_ids_len", slot, draw(st.sampled_from([prompt + 1, *far])))),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


SLOT_NAMES = ("input_ids", "input_ids_len", "pre_ids", "step_idx", "draft_token_num", "draft_tokens", "max_dec_len")
LAYOUT: Layout = {
    **{name: PerSlot() for name in (*SLOT_NAMES, "seq_lens_this_time", "seq_lens_decoder")},
}


def _drafts(inputs: Arrays) -> Arrays:
    tokens, rows = np.array(inputs["seq_lens_this_time"]), np.array(inputs["draft_tokens"])
    found, layout = [], inputs.get("history_layout", 1)
    for b, base in enumerate(tokens.tolist()):
        k = int(inputs["step_idx"][b])
        wanted = min(inputs["max_draft_tokens"] - base + 1, int(inputs["max_dec_len"][b]) - k - 1) if base else 0
        row = inputs["pre_ids"][b].tolist()
        texts = [inputs["input_ids"][b, : inputs["input_ids_len"][b]].tolist(), row[:k]]
        sizes = inputs["max_ngram_size"], inputs["min_ngram_size"]
        found.append(ngrams.drafts_of(texts, row[layout : layout + k], wanted, *sizes))
    kept = ngrams.shared(tokens.tolist(), found, [True] * len(tokens), inputs.get("threshold", 1024))
    for b, drafts in enumerate(kept):
        rows[b, tokens[b] : tokens[b] + len(drafts)] = drafts
        tokens[b] += len(drafts)
    return {"seq_lens_this_time": tokens, "draft_tokens": rows}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other tokens behind prompt and history, other values of the two arguments that are not used."""
    changed: dict[str, Any] = {}
    ends = {"input_ids": inputs["input_ids_len"], "pre_ids": inputs["step_idx"] + inputs.get("history_layout", 1)}
    for name, end in ends.items():
        ids = np.asarray(inputs[name])
        read = np.arange(ids.shape[1]) < np.asarray(end)[:, None]
        changed[name] = np.where(read, ids, rng.choice(np.concatenate([ids.ravel(), [1]]), ids.shape))
    for name in ("draft_token_num", "seq_lens_decoder"):
        changed[name] = anything(rng, len(inputs[name])).astype(np.int32)
    return changed


RELATIONS = (
    ngrams.permuted_within_budget(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    unread("other values where nothing is read", _unread),
    agrees("place by place, by grants", _drafts),
    ngrams.renamed_tokens("input_ids", "pre_ids", "draft_tokens"),
    wider_rows({}, ("draft_tokens", "input_ids", "pre_ids")),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "input_ids": rng.integers(0, 1000, (SLOTS, 1024)),
        "input_ids_len": rng.integers(500, 1000, SLOTS),
        "pre_ids": rng.integers(0, 1000, (SLOTS, 1024)),
        "step_idx": rng.integers(500, 1000, SLOTS),
        "draft_token_num": np.full(SLOTS, batch.drafts - 1, np.int32),
        "draft_tokens": batch.ids(SLOTS, batch.drafts),
        "seq_lens_this_time": np.full(SLOTS, 2, np.int32),
        "seq_lens_decoder": batch.dec,
        "max_dec_len": np.full(SLOTS, 4000),
        "max_ngram_size": 5,
        "min_ngram_size": 2,
        "max_draft_tokens": batch.drafts - 1,
        "threshold": 4096,
    }


WORKLOADS = (
    Workload(Batch("256 slots x 4 drafts, texts of 1,000 to 2,000 tokens", drafts=5), workload),
    Workload(Batch("256 slots x 31 drafts", drafts=32), workload, 100_000, "us"),
)
