"""Inputs of adjust_batch: mixed batches, hidden rows and token ids, room for more slots, rows behind the last."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases.hidden import DTYPES, columns_permuted
from opgold.cases.relations import Arrays, Layout, agrees, grow, holds, insert_idle_slots, permute_slots
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
from opgold.reference.recover_batch_sequence import recover_batch_sequence


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    inputs = draw(split_samples("idx", (*DTYPES, "int64")))
    return Sample({**inputs, "max_input_length": draw(st.integers(-1, 9))})


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: see `with_fault`; ranks with a gap, and an offset that must not be given."""
    inputs = draw(split_samples("idx", (*DTYPES, "int64"), states=LIVE, min_slots=1)) | {"max_input_length": 9}
    fault = draw(st.sampled_from(["arrays"] * 4 + ["gap", "offset"]))
    if fault == "arrays":
        return Sample(draw(with_fault(inputs, "idx")))
    if fault == "offset":
        return Sample({**inputs, "output_padding_offset": np.zeros(draw(st.integers(0, 3)), np.int32)})
    last = int(of_arrays(inputs).live.sum()) - 1
    for name in ("encoder_batch_idx", "decoder_batch_idx"):
        for copy in ("", "_cpu"):
            slots = inputs[name + copy]
            inputs[name + copy] = np.where(slots == last, last + 1, slots).astype(np.int32)
    return Sample(inputs)


LAYOUT: Layout = {"x": IN_SLOT_ORDER, **layout("idx"), "out": IN_SPLIT_ORDER}


def _stable_partition(inputs: Arrays) -> Arrays:
    """Rows of prompt chunks, the other slots' rows, the rest."""
    split, x = of_arrays(inputs), np.asarray(inputs["x"])
    of_prompt = np.repeat(split.prompt, split.rows)
    rows = x[: len(of_prompt)]
    return {"out": np.concatenate([rows[of_prompt], rows[~of_prompt], x[len(of_prompt) :]])}


def _recovered(inputs: Arrays, outputs: Arrays) -> bool:
    """recover_batch_sequence undoes it."""
    arrays = {name.replace("_idx", "_map"): value for name, value in inputs.items() if name in LAYOUT}
    back = np.empty_like(inputs["x"])
    recover_batch_sequence(**{**arrays, "x": outputs["out"]}, out=back)
    return bool(back.tobytes() == np.asarray(inputs["x"]).tobytes())


RELATIONS = (
    permute_slots(LAYOUT, "encoder_batch_idx"),
    insert_idle_slots(LAYOUT, "encoder_batch_idx"),
    grow("more rows behind the last", more_rows, {"out": 7}),
    columns_permuted(),
    unread_entries("idx"),
    agrees("a stable partition of the rows", _stable_partition),
    holds("recover_batch_sequence undoes it", "out", _recovered),
)


def workload(batch: Batch) -> dict[str, Any]:
    """Every fourth slot runs a prompt chunk."""
    this, chunk = batch.this, np.arange(len(batch.this)) % 4 == 0
    lengths = {"seq_lens_encoder": np.where(chunk, this, 0), "seq_lens_decoder": batch.dec, "seq_lens_this_time": this}
    arrays = arrays_of(of_lengths(lengths), "idx", np.random.default_rng(4))
    return {"x": batch.hidden, **arrays, "max_input_length": 8192}


WORKLOADS = row_op(workload)
