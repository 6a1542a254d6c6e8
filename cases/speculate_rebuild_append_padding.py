"""Inputs of speculate_rebuild_append_padding: mixed batches in the legacy description, unused rows on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.hidden import DTYPES, columns_permuted, surplus, widths, with_value
from opgold.cases.hydra_fetch_hidden_states import offsets_of
from opgold.cases.relations import Arrays, Axis, Layout, Packed, PerSlot, Relation, insert_idle_slots, permute_slots
from opgold.cases.sample import Sample
from opgold.cases.slots import batches, prefix_sum
from opgold.cases.workload import PREFILL, SLOTS, Batch, row_op
from opgold.reference.rebuild_padding import rebuild_padding


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches(min_slots=min_slots))
    rng = draw(edges.seeds())
    rows, bsz = batch.output_rows, batch.bsz
    need, longest = int(rows.sum()), max(1, int(batch.this.max(initial=0)))
    unused = draw(surplus())
    lengths = [longest, longest + 1, 8192, (2**31 - 1) // max(1, bsz)]
    max_seq_len = draw(st.sampled_from([n for n in lengths if n > need + unused] or [8192]))
    lone = bsz == 1 and batch.enc[0] == 0 and batch.dec[0] > 0  # its rows go on to the end of one of the two arrays
    tokens = batch.tokens + (0 if lone else draw(surplus()))
    width = draw(widths(tokens + need + unused))
    inputs: dict[str, Any] = {
        "full_hidden_states": payload.hidden(rng, draw(st.sampled_from(DTYPES)), tokens, width),
        "cum_offsets": (np.arange(bsz) * max_seq_len - batch.cu_seqlens_q[:-1]).astype(np.int32),
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "output_padding_offset": offsets_of(rows, max_seq_len, unused),
        "max_seq_len": max_seq_len,
    }
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: lengths, sums and offsets that disagree, too few rows on either side."""
    sample = draw(samples(min_slots=1).filter(lambda s: len(s.inputs["output_padding_offset"]) > 0))
    inputs: dict[str, Any] = dict(sample.inputs)
    offsets, cum, longest = inputs["output_padding_offset"], inputs["cum_offsets"], inputs["max_seq_len"]
    slot, row = draw(st.integers(0, len(cum) - 1)), draw(st.integers(0, len(offsets) - 1))
    prompts = np.flatnonzero(inputs["seq_lens_encoder"])
    faults = ["length", "sum", "padded length", "offset", "noise"] + ["prompt"] * bool(len(prompts))
    fault = draw(st.sampled_from(faults))
    if fault == "length":
        name = draw(st.sampled_from(["seq_lens_encoder", "seq_lens_decoder"]))
        inputs = draw(with_value(inputs, name, slot, list(edges.INT32[:2])))
    elif fault == "prompt":
        slot = int(draw(st.sampled_from(list(prompts))))
        inputs = draw(with_value(inputs, "seq_lens_encoder", slot, [len(inputs["full_hidden_states"]) + 1, 2**31 - 1]))
    elif fault == "sum":
        tokens = len(inputs["full_hidden_states"])
        past = slot * longest - tokens - 1
        inputs = draw(with_value(inputs, "cum_offsets", slot, [-(2**31), slot * longest + 1, past]))
    elif fault == "padded length":
        inputs["max_seq_len"] = draw(st.sampled_from([0, -1, (2**31 - 1) // len(cum) + 1, 2**40]))
    elif fault == "offset":
        inputs = draw(
            with_value(inputs, "output_padding_offset", row, [-1, -row - 1, int(offsets[row]) + 1, *edges.INT32])
        )
        if inputs["output_padding_offset"][row] == offsets[row]:
            inputs["output_padding_offset"][row] += 1
    else:
        rng = draw(edges.seeds())
        inputs["output_padding_offset"] = rng.integers(-3, 12, len(offsets)).astype(np.int32)
        inputs["output_padding_offset"][0] = -1
    return replace(sample, inputs=inputs)


def tokens_of(inputs: Arrays) -> np.ndarray:
    """Tokens of each slot; the last decode slot's by its output rows."""
    starts = np.arange(len(inputs["cum_offsets"])) * inputs["max_seq_len"] - np.asarray(inputs["cum_offsets"])
    lengths = np.diff(starts, append=0)
    if len(lengths):
        last, prompt = len(lengths) - 1, int(inputs["seq_lens_encoder"][-1])
        offsets = np.asarray(inputs["output_padding_offset"])
        before = np.where(inputs["seq_lens_encoder"] > 0, 1, lengths)[:-1].sum()
        left = len(inputs["full_hidden_states"]) - int(starts[-1])
        own = offsets[before : before + left] == last * inputs["max_seq_len"] - before
        decoding = own.sum() if inputs["seq_lens_decoder"][-1] > 0 else 0
        lengths[-1] = prompt if prompt > 0 else decoding
    return np.asarray(lengths)


def rows_of(inputs: Arrays) -> np.ndarray:
    """Output rows of each slot."""
    return np.where(inputs["seq_lens_encoder"] > 0, 1, tokens_of(inputs))


@dataclass(frozen=True)
class _Padding:
    """The padding before each slot."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        tokens = PerSlot().reorder(tokens_of(inputs), order, inputs)
        padding = np.arange(len(order)) * inputs["max_seq_len"] - prefix_sum(tokens)[:-1]
        return np.asarray(padding, np.int32)


@dataclass(frozen=True)
class _Offsets:
    """The padding before its slot, for each row."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        rows = PerSlot().reorder(rows_of(inputs), order, inputs)
        return offsets_of(rows, inputs["max_seq_len"], len(array) - int(rows.sum()))


_AXES: dict[str, Axis] = {
    "full_hidden_states": Packed(tokens_of),
    "cum_offsets": _Padding(),
    "seq_lens_encoder": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "output_padding_offset": _Offsets(),
    "out": Packed(rows_of),
}
LAYOUT: Layout = _AXES


def _where_told(relation: Relation) -> Relation:
    """The relation, where every token and output row is a slot's, and places fit int32: then nothing is ambiguous."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        inputs = sample.inputs
        if tokens_of(inputs).sum() != len(inputs["full_hidden_states"]):
            return None
        if rows_of(inputs).sum() != len(inputs["output_padding_offset"]):
            return None
        changed = relation.transform(sample, rng)
        if changed is None or inputs["max_seq_len"] * max(1, len(changed.inputs["cum_offsets"])) >= 2**31:
            return None
        return changed

    return replace(relation, transform=transform)


def _by_rebuild_padding() -> Relation:
    """The same rows as rebuild_padding picks in speculative mode from the newer description."""

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        inputs = sample.inputs
        tokens, rows, out = tokens_of(inputs), rows_of(inputs), np.empty_like(outputs["out"])
        rebuild_padding(
            inputs["full_hidden_states"],
            prefix_sum(tokens),
            tokens.astype(np.int32),
            inputs["seq_lens_decoder"],
            inputs["seq_lens_encoder"],
            np.repeat(np.arange(len(rows)), rows).astype(np.int32),
            prefix_sum(rows),
            out=out,
        )
        return {"out": out}

    return Relation("rebuild_padding's speculative mode", lambda sample, rng: sample, expect)


RELATIONS = (
    _where_told(permute_slots(LAYOUT, "cum_offsets")),
    _where_told(insert_idle_slots(LAYOUT, "cum_offsets")),
    columns_permuted(),
    _by_rebuild_padding(),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "full_hidden_states": batch.hidden,
        "cum_offsets": (np.arange(SLOTS) * PREFILL - batch.cu_seqlens_q[:-1]).astype(np.int32),
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "output_padding_offset": offsets_of(batch.rows, PREFILL, 0),
        "max_seq_len": PREFILL,
    }


WORKLOADS = row_op(workload)
