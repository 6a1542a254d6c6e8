"""Inputs of rebuild_padding: both modes, log-probabilities, any width, capacity at and above the need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
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
from opgold.cases.slots import batches, prefix_sum
from opgold.cases.workload import SLOTS, Batch, row_op
from opgold.reference.rebuild_padding import sizes

DTYPES = ("float32", "float16", "bfloat16")
WIDTHS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 127, 128, 129)
WIDE = (511, 512, 513, 1023, 1024, 1025, 2056, 8191, 8192)
LENGTHS = ("seq_lens_this_time", "seq_lens_decoder", "seq_lens_encoder")
ELEMENTS = 40_000  # of a batch with rows wider than WIDTHS


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    batch = draw(batches())
    rng = draw(edges.seeds())
    tokens = batch.tokens + draw(st.one_of(st.just(0), edges.sizes(0, 129)))
    widths = [width for width in (0, *WIDTHS, *WIDE) if width in WIDTHS or width * tokens <= ELEMENTS]
    dtype, width = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(widths))
    inputs: dict[str, Any] = {
        "tmp_out": payload.hidden(rng, dtype, tokens, width),
        "cu_seqlens_q": batch.cu_seqlens_q,
        "seq_lens_this_time": batch.this,
        "seq_lens_decoder": batch.dec,
        "seq_lens_encoder": batch.enc,
        "enable_logprob": draw(st.booleans()),
    }
    rows = batch.bsz
    if speculative := draw(st.booleans()):
        rows = int(batch.output_rows.sum())
        ids = np.repeat(np.arange(batch.bsz), batch.output_rows)
        dropped = rng.random(rows) < draw(st.sampled_from([0, 0, 0.3]))
        stale = rng.integers(-1, batch.bsz + 2, draw(st.integers(0, 9)))
        inputs["batch_id_per_token_output"] = np.concatenate([np.where(dropped, -1, ids), stale]).astype(np.int32)
        inputs["cu_seqlens_q_output"] = prefix_sum(batch.output_rows)
    if draw(st.booleans()) or (speculative and inputs["enable_logprob"] and batch.enc.any()):
        inputs["first_token_out"] = payload.hidden(rng, dtype, batch.bsz + draw(st.integers(0, 2)), width)
    chosen = {"rows": rows + draw(st.integers(0, 40))} if draw(st.integers(0, 3)) == 0 else {}
    return Sample(inputs, chosen)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: lengths, prefix sums and ids that disagree, too few rows, half the pair."""
    sample = draw(samples().filter(lambda s: _tokens(s.inputs).any()))
    inputs: dict[str, Any] = dict(sample.inputs)
    rng = draw(edges.seeds())
    this, bsz = inputs["seq_lens_this_time"], len(inputs["seq_lens_this_time"])
    slot = int(rng.choice(np.flatnonzero(this)))
    speculative = "batch_id_per_token_output" in inputs
    slots = np.repeat(np.arange(bsz), output_rows(inputs))
    need = len(slots) if speculative else bsz

    def put(name: str, index: int, values: st.SearchStrategy[int]) -> dict[str, Any]:
        changed = inputs[name].copy()
        changed[index] = draw(values)
        return {name: changed}

    def cut(name: str, need: int) -> dict[str, Any]:
        return {name: inputs[name][: draw(st.integers(0, need - 1))]}

    def shifted(name: str) -> dict[str, Any]:
        index = draw(st.integers(0, bsz))
        return put(name, index, st.sampled_from([-1, 1, 1000]).map(lambda by: int(inputs[name][index]) + by))

    def noise(name: str) -> dict[str, Any]:
        sums = rng.integers(-3, len(inputs["tmp_out"]) + 3, bsz + 1).astype(np.int32)
        sums[0] = draw(st.sampled_from([*edges.INT32, 1]))
        return {name: sums}

    def held() -> dict[str, Any]:
        lengths = np.where(np.arange(bsz) == slot, 0, this).astype(np.int32)
        enc = put("seq_lens_encoder", slot, st.sampled_from([1, 7]))
        return {**enc, "seq_lens_this_time": lengths, "cu_seqlens_q": prefix_sum(lengths)}

    def wrong_id() -> dict[str, Any]:
        row = draw(st.integers(0, need - 1))
        elsewhere = edges.out_of_range(bsz).filter(lambda found: found != -1)
        return put("batch_id_per_token_output", row, st.one_of(st.just(int(slots[row]) + 1), elsewhere))

    negative, longer = st.sampled_from(edges.INT32[:2]), st.sampled_from([int(this[slot]) + 1, edges.INT32[2]])
    faults: list[Callable[[], dict[str, Any]]] = [
        lambda: put(draw(st.sampled_from(LENGTHS)), slot, negative),
        lambda: put("seq_lens_encoder", slot, st.just(0)) | put("seq_lens_decoder", slot, st.just(0)),
        lambda: put("seq_lens_encoder", slot, longer),
        held,
        lambda: cut("tmp_out", int(this.sum())),
        lambda: shifted("cu_seqlens_q"),
        lambda: noise("cu_seqlens_q"),
        lambda: {"cu_seqlens_q_output": None if speculative else prefix_sum(output_rows(inputs))},
    ]
    if speculative:
        faults += [
            wrong_id,
            wrong_id,
            lambda: cut("batch_id_per_token_output", need),
            lambda: shifted("cu_seqlens_q_output"),
            lambda: noise("cu_seqlens_q_output"),
            lambda: {"batch_id_per_token_output": None},
        ]
        if inputs["enable_logprob"] and inputs["seq_lens_encoder"].any():
            faults.append(lambda: {"first_token_out": None})
    if inputs.get("first_token_out") is not None:
        faults.append(lambda: cut("first_token_out", bsz))
    fault = draw(st.integers(0, len(faults)))
    if fault == len(faults):
        return replace(sample, sizes={"rows": draw(st.integers(0, need - 1))})
    return replace(sample, inputs={**inputs, **faults[fault]()})


def output_rows(inputs: Arrays) -> np.ndarray:
    """Rows of each slot in speculative mode, [bsz]."""
    return np.where(np.asarray(inputs["seq_lens_encoder"]) > 0, 1, np.asarray(inputs["seq_lens_this_time"]))


def _tokens(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["seq_lens_this_time"])


class OutputRows:
    """One row a slot in normal mode, else those of all slots, slot after slot; then what stands behind them."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        if inputs.get("batch_id_per_token_output") is not None:
            return Packed(output_rows).reorder(array, order, inputs)
        bsz = len(_tokens(inputs))
        return np.concatenate([PerSlot().reorder(array[:bsz], order, inputs), array[bsz:]])


LAYOUT: dict[str, Axis] = {
    "tmp_out": Packed(_tokens),
    "cu_seqlens_q": Prefix(),
    "seq_lens_this_time": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "seq_lens_encoder": PerSlot(),
    "batch_id_per_token_output": Packed(output_rows, slot_ids=True),
    "cu_seqlens_q_output": Prefix(),
    "first_token_out": PerSlot(),
    "out": OutputRows(),
}


def _with_room(relation: Relation) -> Relation:
    """In normal mode, chosen rows grow with the slots."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        other = relation.transform(sample, rng)
        if other is None or not sample.sizes or sample.inputs.get("batch_id_per_token_output") is not None:
            return other
        added = len(_tokens(other.inputs)) - len(_tokens(sample.inputs))
        return replace(other, sizes={"rows": sample.sizes["rows"] + added})

    return replace(relation, transform=transform)


def _natural_rows(inputs: Arrays) -> int:
    ids = inputs.get("batch_id_per_token_output")
    tmp_out, enc = np.asarray(inputs["tmp_out"]), np.asarray(inputs["seq_lens_encoder"])
    return sizes(tmp_out, enc, _tokens(inputs), ids if isinstance(ids, np.ndarray) else None)["rows"]


def _more_rows(sample: Sample, extra: int) -> Sample:
    """As many more packed rows, none of them zero, as output rows."""
    tmp_out = np.asarray(sample.inputs["tmp_out"])
    more = np.full((extra, tmp_out.shape[1]), 7, tmp_out.dtype)
    rows = sample.sizes.get("rows", _natural_rows(sample.inputs)) + extra
    return Sample({**sample.inputs, "tmp_out": np.concatenate([tmp_out, more])}, {"rows": rows})


def _first_rows() -> Relation:
    """Row b of normal mode is slot b's first row in speculative mode."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        ids, starts = sample.inputs.get("batch_id_per_token_output"), sample.inputs.get("cu_seqlens_q_output")
        if ids is None or starts is None or np.any(np.asarray(ids)[: np.asarray(starts)[-1]] < 0):
            return None
        kept = {k: v for k, v in sample.inputs.items() if k not in ("batch_id_per_token_output", "cu_seqlens_q_output")}
        return Sample(kept)

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        live, starts = _tokens(sample.inputs) > 0, np.asarray(sample.inputs["cu_seqlens_q_output"])[:-1]
        rows = np.asarray(outputs["out"])
        first = np.zeros((len(live), rows.shape[1]), rows.dtype)
        first[live] = rows[starts[live]]
        return {"out": first, "first_token_out": sample.inputs.get("first_token_out")}

    return Relation("first rows are normal mode's", transform, expect)


def _columns_permuted() -> Relation:
    """Columns are moved alike everywhere."""

    def permuted(arrays: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        order = rng.permutation(np.asarray(arrays["out" if "out" in arrays else "tmp_out"]).shape[1])
        return {k: v[:, order] if isinstance(v, np.ndarray) and v.ndim == 2 else v for k, v in arrays.items()}

    return Relation(
        "permute columns",
        lambda sample, rng: replace(sample, inputs=permuted(sample.inputs, rng)),
        lambda sample, outputs, rng: permuted(outputs, rng),
    )


def _stale_ids(inputs: Arrays, rng: np.random.Generator) -> Arrays | None:
    ids, starts = inputs.get("batch_id_per_token_output"), inputs.get("cu_seqlens_q_output")
    if ids is None or starts is None:
        return None
    behind = np.arange(len(np.asarray(ids))) >= np.asarray(starts)[-1]
    stale = rng.integers(-(2**31), 2**31, behind.shape).astype(np.int32)
    return {"batch_id_per_token_output": np.where(behind, stale, ids)}


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    _with_room(insert_idle_slots(LAYOUT, "seq_lens_this_time")),
    grow("grow capacity", _more_rows, {"out": 0}),
    _first_rows(),
    _columns_permuted(),
    unread("other ids behind the last output row", _stale_ids),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "tmp_out": batch.hidden,
        "cu_seqlens_q": batch.cu_seqlens_q,
        "seq_lens_this_time": batch.this,
        "seq_lens_decoder": batch.dec,
        "seq_lens_encoder": batch.enc,
        "batch_id_per_token_output": np.repeat(np.arange(SLOTS, dtype=np.int32), batch.rows),
        "cu_seqlens_q_output": batch.cu_seqlens_q_output,
    }


WORKLOADS = row_op(workload)
