"""Inputs of speculate_get_output_padding_offset: output rows of mixed batches, short to huge paddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.packing import capacities
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Relation,
    agrees,
    grow,
    insert_idle_slots,
    permute_slots,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, STRANGE, batches, prefix_sum
from opgold.cases.workload import Batch, index_op


def _padding(rows: np.ndarray, max_seq_len: int) -> np.ndarray:
    """The padding before each slot and behind the last one, int32 [bsz+1]."""
    return prefix_sum(max_seq_len - rows.astype(np.int64))


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches((*ORDINARY, *STRANGE), min_slots=min_slots))
    rows = batch.output_rows
    longest = int(rows.max(initial=0))
    lengths = [longest, longest + 1, 8192, (2**31 - 1) // max(1, batch.bsz)]
    max_seq_len = draw(st.sampled_from(lengths))
    return Sample(
        {
            "output_cum_offsets_tmp": _padding(rows, max_seq_len)[1:],
            "seq_lens_output": rows,
            "out_token_num": draw(capacities(int(rows.sum()))),
            "max_seq_len": max_seq_len,
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: too little capacity, sums or counts that are none, places past int32."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    rows, max_seq_len = inputs["seq_lens_output"], inputs["max_seq_len"]
    slot = draw(st.integers(0, len(rows) - 1))
    fault = draw(st.sampled_from(["sum", "count", "padded length"] + ["capacity"] * bool(rows.any())))
    if fault == "capacity":
        inputs["out_token_num"] = draw(st.integers(0, int(rows.sum()) - 1))
    elif fault == "padded length":
        longest = (2**31 - 1) // len(rows)
        inputs["max_seq_len"] = draw(st.sampled_from([-1, -(2**40), longest + 1, 2**40]))
    elif fault == "sum":
        sums = inputs["output_cum_offsets_tmp"].copy()
        wrong = [sums[slot] - 1, 0, *edges.INT32]
        sums[slot] = draw(st.sampled_from([value for value in wrong if value != sums[slot]]))
        inputs["output_cum_offsets_tmp"] = sums
    else:
        counts = rows.copy()
        beyond = [max_seq_len + 1] * (max_seq_len < 2**31 - 1)
        counts[slot] = draw(st.sampled_from([-1, edges.INT32[0], *beyond]))
        inputs["seq_lens_output"] = counts
    return replace(sample, inputs=inputs)


@dataclass(frozen=True)
class _Padding(PerSlot):
    """The padding before each slot, with or without its own."""

    own: bool = False

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        rows = PerSlot().reorder(inputs["seq_lens_output"], order, inputs)
        return _padding(rows, inputs["max_seq_len"])[1:] if self.own else _padding(rows, inputs["max_seq_len"])[:-1]


@dataclass(frozen=True)
class _Offsets(Packed):
    """The padding before its slot, for each row."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        rows = PerSlot().reorder(inputs["seq_lens_output"], order, inputs)
        offsets = array.copy()
        offsets[: rows.sum()] = np.repeat(_padding(rows, inputs["max_seq_len"])[:-1], rows)
        return offsets


def _rows(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["seq_lens_output"])


LAYOUT: Layout = {
    "output_cum_offsets_tmp": _Padding(own=True),
    "seq_lens_output": PerSlot(),
    "output_padding_offset": _Offsets(_rows),
    "output_cum_offsets": _Padding(),
}


def _more_capacity(sample: Sample, extra: int) -> Sample:
    return replace(sample, inputs={**sample.inputs, "out_token_num": sample.inputs["out_token_num"] + extra})


def _by_the_newer_pair(inputs: Arrays) -> Arrays:
    """Each row's place b * max_seq_len + i, from cu_seqlens_q_output and batch_id_per_token_output."""
    rows, max_seq_len = _rows(inputs), inputs["max_seq_len"]
    cu_seqlens_q_output = prefix_sum(rows)
    batch_id_per_token_output = np.repeat(np.arange(len(rows)), rows)
    row = np.arange(len(batch_id_per_token_output))
    index_in_slot = row - cu_seqlens_q_output[batch_id_per_token_output]
    place = batch_id_per_token_output * max_seq_len + index_in_slot
    offsets = np.zeros(int(inputs["out_token_num"]), np.int32)
    offsets[: len(row)] = place - row
    cum_offsets = np.arange(len(rows)) * max_seq_len - cu_seqlens_q_output[:-1]
    return {"output_padding_offset": offsets, "output_cum_offsets": cum_offsets.astype(np.int32)}


def _longer_padding() -> Relation:
    """Padding each slot to more rows moves a row by that much for every slot before its own."""

    def extra(rng: np.random.Generator) -> int:
        return int(rng.integers(1, 100))

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        more, inputs = extra(rng), sample.inputs
        longer = inputs["output_cum_offsets_tmp"] + more * np.arange(1, len(_rows(inputs)) + 1)
        changed = {"output_cum_offsets_tmp": longer.astype(np.int32), "max_seq_len": inputs["max_seq_len"] + more}
        return replace(sample, inputs={**inputs, **changed})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        more, rows = extra(rng), _rows(sample.inputs)
        slots = np.arange(len(rows))
        offsets = outputs["output_padding_offset"].copy()
        offsets[: rows.sum()] += (more * np.repeat(slots, rows)).astype(np.int32)
        return {
            "output_padding_offset": offsets,
            "output_cum_offsets": outputs["output_cum_offsets"] + (more * slots).astype(np.int32),
        }

    return Relation("longer padding", transform, expect)


def _where_places_fit(relation: Relation) -> Relation:
    """The relation, where the changed batch does not pass int32."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        changed = relation.transform(sample, rng)
        if changed is None or changed.inputs["max_seq_len"] * max(1, len(_rows(changed.inputs))) >= 2**31:
            return None
        return changed

    return replace(relation, transform=transform)


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_output"),
    _where_places_fit(insert_idle_slots(LAYOUT, "seq_lens_output")),
    _where_places_fit(_longer_padding()),
    grow("grow capacity", _more_capacity, {"output_padding_offset": 0}),
    agrees("conversion to the newer pair", _by_the_newer_pair),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "output_cum_offsets_tmp": np.cumsum(batch.drafts - batch.rows, dtype=np.int32),
        "seq_lens_output": batch.rows,
        "out_token_num": int(batch.rows.sum()),
        "max_seq_len": batch.drafts,
    }


WORKLOADS = index_op(workload)
