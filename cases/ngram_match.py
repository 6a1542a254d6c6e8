"""Inputs of ngram_match: texts of few different tokens, both layouts, budgets that cut and that do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, histories, ngrams
from opgold.cases.draft_rows import INT32, INT64, Fault, anything, between, put, wide_ids, wider_rows, with_fault
from opgold.cases.relations import Arrays, Layout, PerSlot, agrees, insert_idle_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, Workload

KINDS = ("decode", "decode", "decode", "prompt", "stopped")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does, slots = draw(histories.slots(KINDS, min_slots=min_slots))
    rng, layout, bsz = draw(edges.seeds()), draw(st.sampled_from(histories.LAYOUTS)), len(does)
    alphabet = histories.alphabets(rng, draw(st.sampled_from([1, 2, 3, 9])))
    seen = draw(histories.histories(slots, layout, alphabet))
    steps = seen.pop("steps")
    width = draw(edges.sizes(1, 129, usual=8)) if bsz <= 8 else draw(st.sampled_from([1, 4]))
    wanted = between(rng, np.full(slots, -1), np.full(slots, width - 1))
    left = np.where(rng.random(slots) < 0.3, rng.integers(-1, 4, slots), 100)
    prompt, decode = does == "prompt", does == "decode"
    tokens = np.where(prompt, rng.integers(1, 9, bsz), anything(rng, bsz)).astype(np.int32)
    busy = int(tokens[prompt].sum()) + int(decode.sum())
    lengths = {
        "seq_lens_encoder": prompt * rng.integers(1, 9, bsz),
        "seq_lens_decoder": decode * rng.integers(1, 9, bsz),
    }
    lengths["seq_lens_decoder"] += prompt * rng.integers(0, 2, bsz)
    return Sample(
        {
            **seen,
            **{name: np.concatenate([v, anything(rng, slots - bsz)]).astype(np.int32) for name, v in lengths.items()},
            "step_idx": steps,
            "draft_token_num": wanted.astype(np.int32),
            "draft_tokens": wide_ids(rng, slots, width),
            "seq_lens_this_time": tokens,
            "max_dec_len": steps + left,
            "max_ngram_size": draw(st.sampled_from([1, 2, 3, 5, 33])),
            "max_draft_tokens": int(rng.integers(0, 9)),
            "threshold": draw(ngrams.thresholds(rng, busy, int(decode.sum()) * width)),
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
    width, history = inputs["draft_tokens"].shape[1], inputs["token_ids_all"].shape[1]
    far = [history + 1, int(INT64.max) // 2, int(INT64.min), -1]
    wants = put(inputs, "seq_lens_encoder", slot, 0) | put(inputs, "seq_lens_decoder", slot, 3)
    wants |= put(inputs, "draft_token_num", slot, max(1, int(inputs["draft_token_num"][slot])))
    wants |= put(inputs, "max_dec_len", slot, int(INT64.max))
    live, drafting = np.arange(bsz) == slot, np.full(1, width > 1)
    negative = [-1, int(INT32.min)]
    faults: list[Fault] = [
        (live, lambda _: {"seq_lens_this_time": np.zeros(len(inputs["step_idx"]) + 1, np.int32)}),
        (live, lambda _: {"history_layout": draw(st.sampled_from([-1, 2]))}),
        (live, lambda b: put(inputs, "seq_lens_encoder", b, draw(st.sampled_from(negative)))),
        (live, lambda b: put(inputs, "seq_lens_decoder", b, draw(st.sampled_from(negative)))),
        (
            live,
            lambda b: (
                put(inputs, "seq_lens_encoder", b, 1)
                | put(inputs, "seq_lens_this_time", b, draw(st.sampled_from([0, *negative])))
            ),
        ),
        (live, lambda b: wants | put(inputs, "draft_token_num", b, draw(st.sampled_from([width, int(INT32.max)])))),
        (drafting, lambda _: wants | put(inputs, "step_idx", slot, draw(st.sampled_from(far)))),
        (drafting, lambda _: wants | put(inputs, "prompt_lens", slot, draw(st.sampled_from(far)))),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


SLOT_NAMES = ("token_ids_all", "prompt_lens", "step_idx", "draft_token_num", "draft_tokens", "seq_lens_this_time")
LAYOUT: Layout = {
    **{name: PerSlot() for name in (*SLOT_NAMES, "seq_lens_encoder", "seq_lens_decoder", "max_dec_len")},
}


def _drafts(inputs: Arrays) -> Arrays:
    tokens, rows = np.array(inputs["seq_lens_this_time"]), np.array(inputs["draft_tokens"])
    bases, found, layout = [], [], inputs.get("history_layout", 0)
    for b in range(len(tokens)):
        decodes = inputs["seq_lens_encoder"][b] == 0 and inputs["seq_lens_decoder"][b] > 0
        bases.append(int(tokens[b]) if inputs["seq_lens_encoder"][b] > 0 else int(decodes))
        k, start = int(inputs["step_idx"][b]), int(inputs["prompt_lens"][b])
        wanted = min(int(inputs["draft_token_num"][b]), int(inputs["max_dec_len"][b]) - k - 1) if decodes else 0
        row = inputs["token_ids_all"][b].tolist()
        pattern = row[start + layout : start + layout + k]
        longest = inputs["max_ngram_size"]
        found.append(ngrams.drafts_of([row[:start], row[start : start + k]], pattern, wanted, longest, 1))
    kept = ngrams.shared(bases, found, (inputs["seq_lens_encoder"] == 0).tolist(), inputs.get("threshold", 128))
    for b, drafts in enumerate(kept):
        rows[b, 1 : 1 + len(drafts)] = drafts
        tokens[b] = bases[b] + len(drafts)
    return {"seq_lens_this_time": tokens, "draft_tokens": rows}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other tokens behind the history, other lengths of slots without a prompt chunk, another max_draft_tokens."""
    ids = np.asarray(inputs["token_ids_all"])
    end = np.asarray(inputs["prompt_lens"]) + inputs["step_idx"] + inputs.get("history_layout", 0)
    read = np.arange(ids.shape[1]) < end[:, None]
    other = anything(rng, len(inputs["seq_lens_this_time"])).astype(np.int32)
    prompt = np.asarray(inputs["seq_lens_encoder"])[: len(other)] > 0
    return {
        "token_ids_all": np.where(read, ids, rng.choice(np.concatenate([ids.ravel(), [1]]), ids.shape)),
        "seq_lens_this_time": np.where(prompt, inputs["seq_lens_this_time"], other).astype(np.int32),
        "max_draft_tokens": 7,
    }


RELATIONS = (
    ngrams.permuted_within_budget(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    unread("other values where nothing is read", _unread),
    agrees("place by place, by grants", _drafts),
    ngrams.renamed_tokens("token_ids_all", "draft_tokens"),
    wider_rows({}, ("draft_tokens", "token_ids_all")),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "token_ids_all": rng.integers(0, 1000, (SLOTS, 2048)),
        "prompt_lens": rng.integers(500, 1000, SLOTS),
        "step_idx": rng.integers(500, 1000, SLOTS),
        "draft_token_num": np.full(SLOTS, batch.drafts - 1, np.int32),
        "draft_tokens": batch.ids(SLOTS, batch.drafts),
        "seq_lens_this_time": batch.this,
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "max_dec_len": np.full(SLOTS, 4000),
        "max_ngram_size": 5,
        "max_draft_tokens": batch.drafts - 1,
        "threshold": 4096,
    }


WORKLOADS = (
    Workload(Batch("256 slots x 4 drafts, texts of 1,000 to 2,000 tokens", drafts=5), workload),
    Workload(Batch("256 slots x 31 drafts", drafts=32), workload, 100_000, "us"),
)
