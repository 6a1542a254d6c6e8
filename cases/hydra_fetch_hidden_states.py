"""Inputs of hydra_fetch_hidden_states: none, some and too many rows accepted, unused offsets behind the last slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.hidden import DTYPES, columns_permuted, surplus, widths, with_value
from opgold.cases.relations import Arrays, Layout, Packed, PerSlot, Relation, agrees, permute_slots
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, STRANGE, batches, prefix_sum
from opgold.cases.workload import PREFILL, SLOTS, Batch, row_op


def offsets_of(rows: np.ndarray, max_seq_length: int, unused: int) -> np.ndarray:
    """The padding before each output row's slot, then zeros."""
    starts = np.arange(len(rows)) * max_seq_length - prefix_sum(rows)[:-1]
    return np.append(np.repeat(starts, rows), np.zeros(unused, np.int64)).astype(np.int32)


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches((*ORDINARY, *STRANGE), min_slots=min_slots))
    rng = draw(edges.seeds())
    rows, bsz = batch.output_rows, batch.bsz
    longest = max(1, int(rows.max(initial=0)))
    max_seq_length = draw(st.sampled_from([longest, longest + 1, 8192, (2**31 - 1) // max(1, bsz)]))
    offsets = offsets_of(rows, max_seq_length, 0)
    offsets = np.append(offsets, np.zeros(draw(surplus()) if offsets.any() else 0, np.int32))
    accepted = draw(st.sampled_from([rows, rng.integers(0, rows + 1), rng.integers(0, longest + 3, bsz)]))
    beyond = rng.random(bsz) < draw(st.sampled_from([0, 0, 0.3]))
    accepted = np.where(beyond, rng.choice([max_seq_length + 1, 2**31 - 1], bsz), accepted)
    more = rng.integers(-(2**31), 2**31, draw(st.integers(0, 3)))
    width = draw(widths(len(offsets) + bsz))
    inputs: dict[str, Any] = {
        "output_hidden_states": payload.hidden(rng, draw(st.sampled_from(DTYPES)), len(offsets), width),
        "output_padding_offset": offsets,
        "accept_token_num": np.append(accepted, more).astype(np.int32),
        "bsz": bsz,
        "max_seq_length": max_seq_length,
    }
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: negative counts, fewer counts than slots, offsets that name no slot's next row."""
    sample = draw(samples(min_slots=1).filter(lambda s: len(s.inputs["output_padding_offset"]) > 0))
    inputs: dict[str, Any] = dict(sample.inputs)
    offsets, bsz, longest = inputs["output_padding_offset"], inputs["bsz"], inputs["max_seq_length"]
    row = draw(st.integers(0, len(offsets) - 1))
    fault = draw(st.sampled_from(["count", "counts", "length", "offset", "offset", "noise", "rises again"]))
    if fault == "count":
        slot = draw(st.integers(0, bsz - 1))
        inputs = draw(with_value(inputs, "accept_token_num", slot, list(edges.INT32[:2])))
    elif fault == "counts":
        inputs["accept_token_num"] = inputs["accept_token_num"][: draw(st.integers(0, bsz - 1))]
    elif fault == "length":
        inputs["max_seq_length"] = draw(st.sampled_from([0, -1, (2**31 - 1) // bsz + 1, 2**40]))
    elif fault == "offset":
        outside = bsz * longest - row
        inputs = draw(with_value(inputs, "output_padding_offset", row, [-1 - row, min(outside, 2**31 - 1), -(2**31)]))
    elif fault == "noise":
        rng = draw(edges.seeds())
        inputs["output_padding_offset"] = rng.integers(-3, 12, len(offsets)).astype(np.int32)
        inputs["output_padding_offset"][0] = -1
    else:
        inputs["output_padding_offset"] = np.append(offsets, [max(1, bsz * longest - len(offsets) - 1), 0, 1]).astype(
            np.int32
        )
        states = inputs["output_hidden_states"]
        inputs["output_hidden_states"] = np.concatenate([states, np.ones((3, states.shape[1]), states.dtype)])
    return replace(sample, inputs=inputs)


def _slots(inputs: Arrays) -> np.ndarray:
    """Slot of every used row."""
    offsets = np.asarray(inputs["output_padding_offset"]).astype(np.int64)
    used = np.max(np.flatnonzero(offsets), initial=-1) + 1 or len(offsets)
    places = np.arange(used) + offsets[:used]
    return np.asarray(places[places < inputs["bsz"] * inputs["max_seq_length"]] // inputs["max_seq_length"])


def _rows(inputs: Arrays) -> np.ndarray:
    return np.bincount(_slots(inputs), minlength=inputs["bsz"])


@dataclass(frozen=True)
class _Offsets(Packed):
    """The padding before its slot, for each row."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        rows = _rows(inputs)
        return offsets_of(rows[list(order)], inputs["max_seq_length"], len(array) - int(rows.sum()))


@dataclass(frozen=True)
class _Counts(PerSlot):
    """A count a slot, then what is not looked at."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        return np.append(super().reorder(array, order, inputs), array[inputs["bsz"] :])


LAYOUT: Layout = {
    "output_hidden_states": Packed(_rows),
    "output_padding_offset": _Offsets(_rows),
    "accept_token_num": _Counts(),
    "out": PerSlot(),
}


def _permute() -> Relation:
    """Unused rows can be told only behind rows with other offsets, so that some slot but the first must have rows."""
    relation = permute_slots(LAYOUT, "slots")

    def with_slots(sample: Sample) -> Sample:
        return replace(sample, inputs={**sample.inputs, "slots": np.zeros(sample.inputs["bsz"])})

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        changed = relation.transform(with_slots(sample), rng)
        assert changed is not None
        inputs = {name: value for name, value in changed.inputs.items() if name != "slots"}
        unused = len(inputs["output_padding_offset"]) > len(_slots(sample.inputs))
        if unused and not np.any(inputs["output_padding_offset"]):
            return None
        return replace(changed, inputs=inputs)

    return replace(
        relation,
        transform=transform,
        expect=lambda sample, outputs, rng: relation.expect(with_slots(sample), outputs, rng),
    )


def _from_slots(inputs: Arrays) -> Arrays:
    """Each slot's segment of the used rows, by its count."""
    states, slots = np.asarray(inputs["output_hidden_states"]), _slots(inputs)
    out = np.zeros((inputs["bsz"], states.shape[1]), states.dtype)
    for b in range(inputs["bsz"]):
        segment, count = np.flatnonzero(slots == b), int(inputs["accept_token_num"][b])
        if 0 < count <= len(segment):
            out[b] = states[segment[count - 1]]
    return {"out": out}


RELATIONS = (
    _permute(),
    columns_permuted(),
    agrees("segments by slot", _from_slots),
)


def workload(batch: Batch) -> dict[str, Any]:
    """All rows accepted."""
    return {
        "output_hidden_states": batch.hidden,
        "output_padding_offset": offsets_of(batch.rows, PREFILL, 0),
        "accept_token_num": batch.rows,
        "bsz": SLOTS,
        "max_seq_length": PREFILL,
    }


WORKLOADS = row_op(workload)
