"""Inputs of speculate_pre_process: mixed batches with drafts, capacity at and above the need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases.packing import (
    ENCODER_BY_SIGN,
    LONGEST_PROMPT,
    UNREAD_CELLS,
    capacities,
    encoder_lengths,
    more_capacity,
    token_rows,
    with_wrong_length,
)
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Prefix,
    agrees,
    grow,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, STRANGE, batches, prefix_sum
from opgold.cases.workload import PREFILL, SLOTS, Batch, index_op
from opgold.reference.get_padding_offset import get_padding_offset
from opgold.reference.speculate_get_seq_lens_output import speculate_get_seq_lens_output


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches((*ORDINARY, *STRANGE), max_prompt=LONGEST_PROMPT, min_slots=min_slots))
    needed = max(batch.longest_decode, min(batch.tokens, 1))  # a prompt chunk needs a cell for its output row
    inputs: dict[str, Any] = draw(token_rows(batch, needed + draw(st.integers(0, 2))))
    inputs |= {"seq_len": batch.this, "seq_lens_decoder": batch.dec}
    inputs["seq_lens_encoder"] = draw(encoder_lengths(batch))
    inputs["cpu_token_num"] = draw(capacities(batch.tokens))
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: too little room for tokens or rows, slots longer than their row, negative lengths."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    tokens = int(inputs["seq_len"].sum())
    fault = draw(st.sampled_from(["seq_len", "seq_lens_encoder"] + ["capacity", "no drafts"] * (tokens > 0)))
    if fault == "capacity":
        inputs["cpu_token_num"] = draw(st.integers(0, tokens - 1))
    elif fault == "no drafts":
        inputs["draft_tokens"] = inputs["draft_tokens"][:, :0]
        inputs["input_ids"] = np.pad(inputs["input_ids"], ((0, 0), (0, int(inputs["seq_len"].max()))))
    else:
        inputs = draw(with_wrong_length(inputs, fault))
        inputs["cpu_token_num"] += draw(st.integers(0, 2))
    return replace(sample, inputs=inputs)


def _lengths(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["seq_len"])


def _output_lengths(inputs: Arrays) -> np.ndarray:
    this, encoder = np.asarray(inputs["seq_len"]), np.asarray(inputs["seq_lens_encoder"])
    counts = np.empty_like(this)
    speculate_get_seq_lens_output(this, encoder, np.zeros_like(this), seq_lens_output=counts)
    return counts


@dataclass(frozen=True)
class _OutputIds(Packed):
    """Slot numbers of output rows, with room for every cell of draft_tokens."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        cells = len(order) * np.asarray(inputs["draft_tokens"]).shape[1]
        ids = super().reorder(array, order, inputs)
        return np.concatenate([ids, np.full(cells - len(ids), -1, ids.dtype)])


LAYOUT: Layout = {
    "input_ids": PerSlot(),
    "seq_len": PerSlot(),
    "draft_tokens": PerSlot(),
    "seq_lens_encoder": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "ids_remove_padding": Packed(_lengths),
    "batch_id_per_token": Packed(_lengths, slot_ids=True),
    "cu_seqlens_q": Prefix(),
    "cu_seqlens_k": Prefix(),
    "cu_seqlens_q_output": Prefix(),
    "batch_id_per_token_output": _OutputIds(_output_lengths, slot_ids=True),
}


def _by_its_parts(inputs: Arrays) -> Arrays:
    """The outputs of the ops that this one replaced."""
    given = {name: value for name, value in inputs.items() if name != "seq_lens_decoder"}
    tokens, bsz = inputs["cpu_token_num"], len(_lengths(inputs))
    packed: dict[str, Any] = {
        "x_remove_padding": np.empty(tokens, np.int64),
        "batch_id_per_token": np.empty(tokens, np.int32),
        "cu_seqlens_q": np.empty(bsz + 1, np.int32),
        "cu_seqlens_k": np.empty(bsz + 1, np.int32),
    }
    get_padding_offset(**given, **packed)
    packed["ids_remove_padding"] = packed.pop("x_remove_padding")
    rows = _output_lengths(inputs)
    output_ids = np.full(np.asarray(inputs["draft_tokens"]).size, -1, np.int32)
    output_ids[: rows.sum()] = np.repeat(np.arange(bsz), rows)
    return {
        **packed,
        "cu_seqlens_q_output": prefix_sum(rows),
        "batch_id_per_token_output": output_ids,
        "real_output_token_num": rows.sum(keepdims=True).astype(np.int32),
    }


def _other_cached_lengths(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    return {"seq_lens_decoder": rng.integers(0, 2**31, len(_lengths(inputs))).astype(np.int32)}


RELATIONS = (
    permute_slots(LAYOUT, "seq_len"),
    insert_idle_slots(LAYOUT, "seq_len"),
    grow("grow capacity", more_capacity, {"ids_remove_padding": 2, "batch_id_per_token": -1}),
    agrees("equals the ops that it replaced", _by_its_parts),
    UNREAD_CELLS,
    ENCODER_BY_SIGN,
    unread("other decoder lengths", _other_cached_lengths),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "input_ids": batch.ids(SLOTS, PREFILL),
        "seq_len": batch.this,
        "draft_tokens": batch.ids(SLOTS, batch.drafts),
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "cpu_token_num": batch.tokens,
    }


WORKLOADS = index_op(workload)
