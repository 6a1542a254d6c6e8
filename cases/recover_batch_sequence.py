"""Inputs of recover_batch_sequence: mixed batches, hidden rows and token ids, slots by number or by rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.hidden import DTYPES, columns_permuted
from opgold.cases.relations import Arrays, Layout, agrees, grow, holds, insert_idle_slots, permute_slots, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import LIVE
from opgold.cases.split_batches import (
    IN_SLOT_ORDER,
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
from opgold.reference.adjust_batch import adjust_batch


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    inputs = draw(split_samples("map", (*DTYPES, "int64")))
    ranked = draw(st.booleans())
    return Sample({**inputs, **_ranked(inputs, draw(edges.seeds()))} if ranked else inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: see `with_fault`."""
    inputs = draw(split_samples("map", (*DTYPES, "int64"), states=LIVE, min_slots=1))
    return Sample(draw(with_fault(inputs, "map")))


LAYOUT: Layout = {"x": IN_SPLIT_ORDER, **layout("map"), "out": IN_SLOT_ORDER}


def _ranked(inputs: Arrays, rng: np.random.Generator) -> dict[str, Any]:
    """Slots by rank instead of by number."""
    arrays = arrays_of(of_arrays(inputs), "idx", rng)
    return {name.replace("_idx", "_map"): array for name, array in arrays.items()}


def _merged(inputs: Arrays) -> Arrays:
    """Rows sorted by their slots."""
    split, x = of_arrays(inputs), np.asarray(inputs["x"])
    slots = np.repeat(split.by_class, split.rows[split.by_class])
    return {"out": np.concatenate([x[np.argsort(slots, kind="stable")], x[len(slots) :]])}


def _adjusted(inputs: Arrays, outputs: Arrays) -> bool:
    """adjust_batch undoes it."""
    arrays = arrays_of(of_arrays(inputs), "idx", np.random.default_rng(5))
    for name in ("encoder_batch_idx", "decoder_batch_idx", "encoder_seq_lod", "decoder_seq_lod"):
        arrays[f"{name}_cpu"] = arrays[name]
    back = np.empty_like(inputs["x"])
    adjust_batch(x=outputs["out"], **arrays, max_input_length=1, out=back)
    return bool(back.tobytes() == np.asarray(inputs["x"]).tobytes())


RELATIONS = (
    permute_slots(LAYOUT, "encoder_batch_map"),
    insert_idle_slots(LAYOUT, "encoder_batch_map"),
    grow("more rows behind the last", more_rows, {"out": 7}),
    columns_permuted(),
    unread_entries("map"),
    unread("slots by rank", _ranked),
    agrees("rows sorted by slot", _merged),
    holds("adjust_batch undoes it", "out", _adjusted),
)


def workload(batch: Batch) -> dict[str, Any]:
    """Every fourth slot runs a prompt chunk."""
    this, chunk = batch.this, np.arange(len(batch.this)) % 4 == 0
    lengths = {"seq_lens_encoder": np.where(chunk, this, 0), "seq_lens_decoder": batch.dec, "seq_lens_this_time": this}
    return {"x": batch.hidden, **arrays_of(of_lengths(lengths), "map", np.random.default_rng(4))}


WORKLOADS = row_op(workload)
