"""Inputs of speculate_set_stop_value_multi_seqs: sequences cut from what a slot generated, across every seam."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, histories
from opgold.cases.draft_rows import INT32, INT64, anything, between, flags, put, with_fault
from opgold.cases.relations import Arrays, Layout, PerSlot, Whole, agrees, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.workload import SLOTS, Batch, index_op

KINDS = ("seam", "seam", "random", "stopped", "early")


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    does, slots = draw(histories.slots(KINDS, min_slots=min_slots, spare=False))
    rng, layout = draw(edges.seeds()), draw(st.sampled_from(histories.LAYOUTS))
    alphabet = histories.alphabets(rng, draw(st.sampled_from([1, 2, 3, 9])))
    seen = draw(histories.histories(slots, layout, alphabet))
    steps, ids = seen.pop("steps"), seen["token_ids_all"]
    width = draw(edges.sizes(1, 129, usual=7)) if slots <= 8 else 3
    longest = draw(edges.sizes(1, 33, usual=5))
    count = draw(edges.sizes(0, 129, usual=3)) if slots <= 8 else 2
    accepted = between(rng, np.zeros(slots, np.int64), np.full(slots, width)).astype(np.int32)
    tokens = rng.choice(alphabet, (slots, width))
    sequences = rng.choice(alphabet, (slots, count, longest))
    lengths = rng.integers(0, longest + 1, (slots, count)).astype(np.int32)
    for b in np.flatnonzero(does == "seam"):
        begin = int(seen["prompt_lens"][b]) + layout
        whole = np.concatenate([ids[b, begin : begin + steps[b]], tokens[b, : accepted[b]]])
        for s in range(count):
            end = len(whole) - int(rng.integers(0, min(len(whole), int(accepted[b]) + 2) + 1))
            length = min(int(lengths[b, s]), end)
            lengths[b, s] = length
            sequences[b, s, :length] = whole[end - length : end]
    ends = histories.anywhere(rng, draw(st.sampled_from([1, 2, 32, 33])))
    if draw(st.booleans()):
        ends[0] = alphabet[0]  # an end token that sequences hold
    early = does == "early"
    return Sample(
        {
            **seen,
            "accept_tokens": tokens,
            "accept_num": accepted,
            "step_idx": steps,
            "stop_flags": does == "stopped",
            "seq_lens": anything(rng, draw(st.sampled_from([0, slots, slots + 2]))).astype(np.int32),
            "stop_seqs": sequences,
            "stop_seqs_len": lengths,
            "end_ids": ends,
            "min_tokens": steps + accepted + np.where(early, rng.choice([1, 5], slots), -rng.choice([0, 0, 3], slots)),
            "history_layout": layout,
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in slots that are looked at."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    slots, count, longest = inputs["stop_seqs"].shape
    width, history = inputs["accept_tokens"].shape[1], inputs["token_ids_all"].shape[1]
    free = {"min_tokens": np.full(slots, INT64.min)}
    live = ~inputs["stop_flags"] & (inputs["stop_seqs_len"] > 0).any(axis=1)
    looked = ~inputs["stop_flags"] & (count > 0)
    far = [history + 1, int(INT64.max), int(INT64.min), -1]
    wrong_count = [width + 1, -1, int(INT32.max), int(INT32.min)]
    wrong_length = [longest + 1, -1, int(INT32.max), int(INT32.min)]

    def length(slot: int) -> dict[str, Any]:
        changed = inputs["stop_seqs_len"].copy()
        changed[slot, draw(st.integers(0, count - 1))] = draw(st.sampled_from(wrong_length))
        return {"stop_seqs_len": changed}

    faults = [
        (np.ones(1, bool), lambda _: {"history_layout": draw(st.sampled_from([-1, 2]))}),
        (looked, lambda slot: free | length(slot)),
        (live, lambda _: free | {"end_ids": inputs["end_ids"][:0]}),
        (
            live,
            lambda _: free | {"accept_tokens": inputs["accept_tokens"][:, :0], "accept_num": 0 * inputs["accept_num"]},
        ),
        (live, lambda slot: free | put(inputs, "accept_num", slot, draw(st.sampled_from(wrong_count)))),
        (live, lambda slot: free | put(inputs, "step_idx", slot, draw(st.sampled_from(far)))),
        (live, lambda slot: free | put(inputs, "prompt_lens", slot, draw(st.sampled_from(far)))),
    ]
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


SLOT_NAMES = ("accept_tokens", "accept_num", "token_ids_all", "prompt_lens", "step_idx", "stop_seqs", "stop_seqs_len")
LAYOUT: Layout = {
    **{name: PerSlot() for name in (*SLOT_NAMES, "min_tokens")},
    "stop_flags": PerSlot(idle=1),
    "seq_lens": Whole(),
    "end_ids": Whole(),
}


def _generated(inputs: Arrays, b: int) -> tuple[list[int], list[int]]:
    begin, step = int(inputs["prompt_lens"][b]) + inputs.get("history_layout", 0), int(inputs["step_idx"][b])
    history = inputs["token_ids_all"][b, begin : begin + step].tolist()
    return history, inputs["accept_tokens"][b, : inputs["accept_num"][b]].tolist()


def _cut(inputs: Arrays) -> Arrays:
    """The new lengths, by comparing text: each sequence is looked for in ever longer heads of the generated tokens."""
    counts = np.array(inputs["accept_num"])
    for b in np.flatnonzero(~inputs["stop_flags"]):
        history, accepted = _generated(inputs, int(b))
        if len(accepted) + int(inputs["step_idx"][b]) < inputs["min_tokens"][b]:
            continue
        sequences = zip(inputs["stop_seqs"][b], inputs["stop_seqs_len"][b], strict=True)
        wanted = [",".join(map(str, sequence[:length])) for sequence, length in sequences if length > 0]
        heads = ["," + ",".join(map(str, history + accepted[:n])) for n in range(max(1, len(accepted)))]
        hits = [n for n, head in enumerate(heads) if any(head.endswith("," + text) for text in wanted)]
        counts[b] = hits[0] + 1 if hits else counts[b]
    return {"accept_num": counts}


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other ids in the prompt and behind the history, other ends of sequence rows, other end tokens but the first."""
    ids, sequences, ends = (np.array(inputs[name]) for name in ("token_ids_all", "stop_seqs", "end_ids"))
    begin = np.asarray(inputs["prompt_lens"])[:, None] + inputs.get("history_layout", 0)
    place = np.arange(ids.shape[1])
    read = (place >= begin) & (place < begin + np.asarray(inputs["step_idx"])[:, None])
    behind = np.arange(sequences.shape[2]) >= np.asarray(inputs["stop_seqs_len"])[:, :, None]
    pool = np.concatenate([ids.ravel(), [1]])
    ends[1:] = rng.integers(0, 99, len(ends) - 1)
    return {
        "token_ids_all": np.where(read, ids, rng.choice(pool, ids.shape)),
        "stop_seqs": np.where(behind, rng.choice(pool, sequences.shape), sequences),
        "end_ids": ends,
        "seq_lens": anything(rng, 3).astype(np.int32),
    }


def _sequences_in_another_order(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    order = rng.permutation(np.asarray(inputs["stop_seqs"]).shape[1])
    return {name: np.ascontiguousarray(inputs[name][:, order]) for name in ("stop_seqs", "stop_seqs_len")}


RELATIONS = (
    permute_slots(LAYOUT, "stop_flags"),
    insert_idle_slots(LAYOUT, "stop_flags"),
    unread("other values where nothing is read", _unread),
    unread("sequences in another order", _sequences_in_another_order),
    agrees("compared as text", _cut),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "accept_tokens": batch.ids(SLOTS, batch.drafts),
        "accept_num": np.full(SLOTS, batch.drafts, np.int32),
        "token_ids_all": batch.ids(SLOTS, 2048),
        "prompt_lens": rng.integers(10, 1000, SLOTS),
        "step_idx": rng.integers(10, 1000, SLOTS),
        "stop_flags": flags(rng, SLOTS, 0.0),
        "seq_lens": batch.this,
        "stop_seqs": batch.ids(SLOTS, 4, 8),
        "stop_seqs_len": np.tile(np.array([2, 8, 0, 3], np.int32), (SLOTS, 1)),
        "end_ids": np.array([2]),
        "min_tokens": np.zeros(SLOTS, np.int64),
    }


WORKLOADS = index_op(workload)
