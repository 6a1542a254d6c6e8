"""What the inputs of the two forms of update_attn_mask_offsets have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.relations import (
    Arrays,
    Axis,
    Packed,
    PerSlot,
    Prefix,
    Relation,
    grow,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, STRANGE, State, batches
from opgold.cases.workload import PREFILL, SLOTS, Batch

INT32_MAX = 2**31 - 1


def decodes(inputs: Arrays) -> np.ndarray:
    """Which slots take the decode branch, with or without tokens, bool [bsz]."""
    blocked, enc, dec = (np.asarray(inputs[n]) for n in ("is_block_step", "seq_lens_encoder", "seq_lens_decoder"))
    return np.asarray(~blocked & (enc == 0) & (dec > 0))


def prefills(inputs: Arrays) -> np.ndarray:
    """Which slots run a prompt chunk, bool [bsz]."""
    return ~np.asarray(inputs["is_block_step"]) & (np.asarray(inputs["seq_lens_encoder"]) > 0)


def sees_image(inputs: Arrays) -> np.ndarray:
    """Which of those generate an image, bool [bsz]."""
    cached, states = np.asarray(inputs["seq_lens_decoder"]), np.asarray(inputs["decode_states"])
    return np.asarray(prefills(inputs) & (cached > 0) & (states[:, 0] == 2))


@st.composite
def masks(draw: st.DrawFn) -> dict[str, Any]:
    """The inputs that both forms have."""
    batch = draw(batches((*ORDINARY, State.BLOCKED, *STRANGE), max_prompt=1025))
    rng = draw(edges.seeds())
    this, enc, dec = batch.this, batch.enc.copy(), batch.dec.copy()
    strange = ((this > 0) & (enc == 0) & (dec == 0)) | ((this == 0) & (enc > 0))  # lawful only while blocked
    blocked = batch.blocked | strange | (rng.random(batch.bsz) < draw(st.sampled_from([0, 0, 0.3])))
    enc[blocked] -= draw(st.sampled_from([0, 0, 9]))  # nothing but the tokens of a blocked slot counts
    tokens = batch.tokens + draw(st.one_of(st.just(0), edges.sizes(0, 1025)))
    inputs: dict[str, Any] = {
        "ids_remove_padding": rng.integers(0, 1000, tokens),
        "seq_lens_this_time": this,
        "seq_lens_encoder": enc,
        "seq_lens_decoder": dec,
        "cu_seqlens_q": batch.cu_seqlens_q,
        "is_block_step": blocked,
        "decode_states": rng.integers(-1, 3, (batch.bsz, draw(edges.sizes(1, 40)))).astype(np.int32),
    }
    longest = int(this[prefills(inputs) & ~sees_image(inputs)].max(initial=0))
    ends = rng.integers(-1, draw(st.sampled_from([9000, INT32_MAX])), (batch.bsz, longest + draw(st.integers(0, 2))))
    inputs["attn_mask_offsets_full"] = ends.astype(np.int32)
    return inputs


@st.composite
def with_fault(draw: st.DrawFn, inputs: Arrays) -> dict[str, Any]:
    """`inputs`, of at least one slot, made unlawful in a way that does not depend on the form."""
    given: dict[str, Any] = dict(inputs)
    rng = draw(edges.seeds())
    this, bsz, tokens = _tokens(inputs), len(_tokens(inputs)), len(given["ids_remove_padding"])
    live = ~given["is_block_step"]
    text = prefills(inputs) & ~sees_image(inputs)

    def put(name: str, index: int | tuple[int, int], values: st.SearchStrategy[int]) -> dict[str, Any]:
        changed = given[name].copy()
        changed[index] = draw(values)
        return {name: changed}

    def shifted_prefix(_: int) -> dict[str, Any]:
        index = draw(st.integers(0, bsz))
        wrong = st.sampled_from([-1, 1, 1000]).map(lambda by: int(given["cu_seqlens_q"][index]) + by)
        return put("cu_seqlens_q", index, wrong)

    def noise(_: int) -> dict[str, Any]:
        sums, lengths = rng.integers(-3, tokens + 3, (2, bsz + 1)).astype(np.int32)
        sums[0] = draw(st.sampled_from([*edges.INT32, 1]))
        return {"cu_seqlens_q": sums, "seq_lens_this_time": lengths[:bsz].copy()}

    def short_row(slot: int) -> dict[str, Any]:
        columns = draw(st.integers(0, int(this[slot]) - 1))
        return {"attn_mask_offsets_full": given["attn_mask_offsets_full"][:, :columns].copy()}

    negative = st.sampled_from(edges.INT32[:2])
    anywhere = np.ones(bsz, bool)
    faults: list[tuple[np.ndarray, Callable[[int], dict[str, Any]]]] = [
        (anywhere, lambda slot: put("seq_lens_this_time", slot, negative)),
        (live, lambda slot: put(draw(st.sampled_from(["seq_lens_encoder", "seq_lens_decoder"])), slot, negative)),
        (
            live & (this > 0),
            lambda slot: put("seq_lens_encoder", slot, st.just(0)) | put("seq_lens_decoder", slot, st.just(0)),
        ),
        (live & (this == 0), lambda slot: put("seq_lens_encoder", slot, st.sampled_from([1, 7, INT32_MAX]))),
        (this > 0, lambda _: {"ids_remove_padding": given["ids_remove_padding"][: this.sum() - 1]}),
        (anywhere, shifted_prefix),
        (anywhere, noise),
        (text, short_row),
        (
            text,
            lambda slot: put(
                "attn_mask_offsets_full", (slot, draw(st.integers(0, this[slot] - 1))), st.just(INT32_MAX)
            ),
        ),
        (sees_image(inputs), lambda slot: put("seq_lens_decoder", slot, st.just(INT32_MAX - int(this[slot]) + 1))),
    ]
    where, fault = draw(st.sampled_from([pair for pair in faults if pair[0].any()]))
    return {**given, **fault(int(rng.choice(np.flatnonzero(where))))}


def _tokens(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["seq_lens_this_time"])


LAYOUT: dict[str, Axis] = {
    "ids_remove_padding": Packed(_tokens),
    "seq_lens_this_time": PerSlot(),
    "seq_lens_encoder": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "cu_seqlens_q": Prefix(),
    "attn_mask_offsets_full": PerSlot(),
    "attn_mask_offsets_decoder": PerSlot(),
    "is_block_step": PerSlot(),
    "decode_states": PerSlot(),
    "mask_rollback": PerSlot(),
    "attn_mask_offsets": Packed(_tokens, rows=2),
}


def _more_tokens(sample: Sample, extra: int) -> Sample:
    ids = np.asarray(sample.inputs["ids_remove_padding"])
    return replace(sample, inputs={**sample.inputs, "ids_remove_padding": np.concatenate([ids, np.full(extra, 2)])})


def _unread_columns(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other ends in all cells of attn_mask_offsets_full that no prompt chunk covers, and other token ids."""
    full = np.asarray(inputs["attn_mask_offsets_full"])
    text = prefills(inputs) & ~sees_image(inputs)
    read = text[:, None] & (np.arange(full.shape[1]) < _tokens(inputs)[:, None])
    other = rng.integers(-(2**31), 2**31, full.shape).astype(np.int32)
    return {
        "attn_mask_offsets_full": np.where(read, full, other),
        "ids_remove_padding": rng.integers(-(2**63), 2**63 - 1, len(np.asarray(inputs["ids_remove_padding"]))),
    }


def _blocked_lengths(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other lengths of blocked slots, and other encoder lengths of prompt chunks."""
    blocked, chunk = np.asarray(inputs["is_block_step"]), prefills(inputs)
    other = rng.integers(-(2**31), 2**31, (2, len(blocked)))
    longer = rng.integers(1, 2**31, len(blocked))
    encoder = np.where(blocked, other[0], np.where(chunk, longer, inputs["seq_lens_encoder"]))
    decoder = np.where(blocked, other[1], inputs["seq_lens_decoder"])
    return {"seq_lens_encoder": encoder.astype(np.int32), "seq_lens_decoder": decoder.astype(np.int32)}


RELATIONS: tuple[Relation, ...] = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    grow("grow capacity", _more_tokens, {"attn_mask_offsets": 0}, rows=2),
    unread("other mask ends where nothing is read", _unread_columns),
    unread("other lengths of blocked slots and prompts", _blocked_lengths),
)


def workload(batch: Batch) -> dict[str, Any]:
    """The inputs that both forms have."""
    return {
        "ids_remove_padding": batch.ids(batch.tokens),
        "seq_lens_this_time": batch.this,
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "cu_seqlens_q": batch.cu_seqlens_q,
        "attn_mask_offsets_full": np.tile(np.arange(PREFILL, dtype=np.int32), (SLOTS, 1)),
        "is_block_step": np.zeros(SLOTS, bool),
        "decode_states": np.zeros((SLOTS, batch.drafts), np.int32),
    }
