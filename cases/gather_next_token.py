"""Inputs of gather_next_token: both modes, idle slots, room for more slots, capacity at and above the need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases.hidden import DTYPES, columns_permuted
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Relation,
    grow,
    insert_idle_slots,
    permute_slots,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import LIVE, prefix_sum
from opgold.cases.split_batches import (
    IN_SPLIT_ORDER,
    arrays_of,
    layout,
    more_rows,
    of_arrays,
    of_lengths,
    split_samples,
    unread_entries,
    with_fault,
)
from opgold.cases.workload import Batch, row_op
from opgold.reference.gather_next_token import sizes
from opgold.reference.rebuild_padding import rebuild_padding
from opgold.reference.recover_batch_sequence import recover_batch_sequence


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    inputs = draw(split_samples("map", DTYPES))
    speculative = draw(st.booleans())
    needed = int(np.flatnonzero(of_arrays(inputs).live).max(initial=-1)) + 1
    rows = [-1, 0, needed, needed, needed + 1, needed + 40]
    inputs |= {"is_speculative": speculative, "max_bsz": draw(st.sampled_from(rows))}
    extra = draw(st.integers(0, 40))
    return Sample(inputs, {"rows": _rows(inputs) + extra} if draw(st.integers(0, 3)) == 0 else {})


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: see `with_fault`; fewer rows than slots or tokens need."""
    speculative = draw(st.booleans())
    inputs: dict[str, Any] = draw(split_samples("map", DTYPES, states=LIVE, min_slots=1))
    inputs |= {"is_speculative": speculative, "max_bsz": -1}
    if draw(st.integers(0, 4)) < 4:
        return Sample(draw(with_fault(inputs, "map")))
    split = of_arrays(inputs)
    need = int(output_rows(inputs).sum()) if speculative else int(np.flatnonzero(split.live).max()) + 1
    fewer = draw(st.integers(0, need - 1))
    if fewer and not speculative and draw(st.booleans()):
        return Sample({**inputs, "max_bsz": fewer})
    return Sample(inputs, {"rows": fewer})


def output_rows(inputs: Arrays) -> np.ndarray:
    """Rows of each slot in speculative mode, [bsz]."""
    split = of_arrays(inputs)
    return np.where(split.prompt, 1, split.rows)


class OutputRows:
    """One row a slot or, speculative, those of all slots, slot after slot; then what stands behind them."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        if inputs["is_speculative"]:
            return Packed(output_rows).reorder(array, order, inputs)
        missing = max(0, len(inputs["encoder_batch_map"]) - len(array))
        return PerSlot().reorder(np.pad(array, ((0, missing), (0, 0))), order, inputs)


LAYOUT: Layout = {"x": IN_SPLIT_ORDER, **layout("map"), "out": OutputRows()}


def _rows(inputs: Arrays) -> int:
    names = ("x", "encoder_seq_lod", "encoder_batch_map", "len_info_cpu", "is_speculative", "max_bsz")
    return sizes(**{name: inputs[name] for name in names})["rows"]


def _with_room(relation: Relation) -> Relation:
    """Where a row is a slot's, there is one for each slot."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        other = relation.transform(sample, rng)
        if other is None or sample.inputs["is_speculative"]:
            return other
        slots = len(sample.inputs["encoder_batch_map"])
        rows = max(sample.sizes.get("rows", _rows(sample.inputs)), slots)
        return replace(other, sizes={"rows": rows + len(other.inputs["encoder_batch_map"]) - slots})

    return replace(relation, transform=transform)


def _more_rows(sample: Sample, extra: int) -> Sample:
    """As many more packed rows, none of them zero, as output rows."""
    rows = sample.sizes.get("rows", _rows(sample.inputs)) + extra
    return replace(more_rows(sample, extra), sizes={"rows": rows})


def _rebuilt() -> Relation:
    """rebuild_padding picks the same rows from the batch in slot order."""

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        inputs, split = sample.inputs, of_arrays(sample.inputs)
        ordered = np.empty_like(inputs["x"])
        recover_batch_sequence(**{name: inputs[name] for name in LAYOUT if name != "out"}, out=ordered)
        given: dict[str, Any] = {
            "seq_lens_this_time": split.rows.astype(np.int32),
            "seq_lens_decoder": split.decode.astype(np.int32),
            "seq_lens_encoder": np.where(split.prompt, split.rows, 0).astype(np.int32),
        }
        if inputs["is_speculative"]:
            rows = output_rows(inputs)
            given["batch_id_per_token_output"] = np.repeat(np.arange(len(rows), dtype=np.int32), rows)
            given["cu_seqlens_q_output"] = prefix_sum(rows)
        count = len(outputs["out"])
        out = np.empty((max(count, len(split.rows)), ordered.shape[1]), ordered.dtype)
        rebuild_padding(ordered, prefix_sum(split.rows), **given, out=out)
        return {"out": out[:count]}

    return Relation("equals rebuild_padding", lambda sample, rng: sample, expect)


RELATIONS = (
    _with_room(permute_slots(LAYOUT, "encoder_batch_map")),
    _with_room(insert_idle_slots(LAYOUT, "encoder_batch_map")),
    grow("grow capacity", _more_rows, {"out": 0}),
    columns_permuted(),
    unread_entries("map"),
    _rebuilt(),
)


def workload(batch: Batch) -> dict[str, Any]:
    """Every slot decodes, as in most steps."""
    nothing = np.zeros_like(batch.this)
    lengths = {"seq_lens_encoder": nothing, "seq_lens_decoder": batch.dec, "seq_lens_this_time": batch.this}
    arrays = arrays_of(of_lengths(lengths), "map", np.random.default_rng(4))
    return {"x": batch.hidden, **arrays, "is_speculative": True, "max_bsz": -1}


WORKLOADS = row_op(workload)
