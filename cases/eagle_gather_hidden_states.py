"""Inputs of eagle_gather_hidden_states: mixed batches, all idle ones, rows behind the last slot's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.hidden import DTYPES, columns_permuted, more_rows, other_values, surplus, widths, with_value
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Prefix,
    Whole,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, STRANGE, State, batches, prefix_sum
from opgold.cases.workload import SLOTS, Batch, row_op

UNUSED = (
    "cu_seqlens_q",
    "seq_lens_decoder",
    "seq_lens_encoder",
    "batch_id_per_token_output",
    "cu_seqlens_q_output",
    "real_output_token_num",
)


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    states = draw(st.sampled_from([(*ORDINARY, *STRANGE)] * 4 + [(State.IDLE, State.STOPPED)]))
    batch = draw(batches(states, min_slots=min_slots))
    rng = draw(edges.seeds())
    tokens = batch.tokens + draw(surplus())
    slots = np.repeat(np.arange(batch.bsz), batch.output_rows).astype(np.int32)
    width = draw(widths(tokens + batch.bsz))
    inputs: dict[str, Any] = {
        "input": payload.hidden(rng, draw(st.sampled_from(DTYPES)), tokens, width),
        "cu_seqlens_q": batch.cu_seqlens_q,
        "seq_lens_this_time": batch.this,
        "seq_lens_decoder": batch.dec,
        "seq_lens_encoder": batch.enc,
        "batch_id_per_token_output": slots,
        "cu_seqlens_q_output": prefix_sum(batch.output_rows),
        "real_output_token_num": np.array([len(slots)], np.int32),
    }
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: negative lengths, more tokens than rows."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    this = inputs["seq_lens_this_time"]
    slot = draw(st.integers(0, len(this) - 1))
    if this.any() and draw(st.booleans()):
        inputs["input"] = inputs["input"][: draw(st.integers(0, int(this.sum()) - 1))]
    else:
        too_long = [len(inputs["input"]) + 1, edges.INT32[2]]
        inputs = draw(with_value(inputs, "seq_lens_this_time", slot, [*edges.INT32[:2], *too_long]))
    return replace(sample, inputs=inputs)


def _tokens(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["seq_lens_this_time"])


@dataclass(frozen=True)
class _Gathered(Packed):
    """A row a slot with tokens, then zeros up to one row a slot."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        packed = super().reorder(array, order, inputs)
        more = len(order) - len(packed)
        return np.concatenate([packed, np.zeros((more, *packed.shape[1:]), packed.dtype)])


LAYOUT: Layout = {
    "input": Packed(_tokens),
    "cu_seqlens_q": Prefix(),
    "seq_lens_this_time": PerSlot(),
    "seq_lens_decoder": PerSlot(),
    "seq_lens_encoder": PerSlot(),
    "batch_id_per_token_output": Whole(),
    "cu_seqlens_q_output": Prefix(),
    "real_output_token_num": Whole(),
    "out": _Gathered(lambda inputs: (_tokens(inputs) > 0).astype(np.int64)),
    "output_token_num": Whole(),
}


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    more_rows("input"),
    columns_permuted(),
    unread("other values in the inputs that are not read", other_values(*UNUSED)),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "input": batch.hidden,
        "cu_seqlens_q": batch.cu_seqlens_q,
        "seq_lens_this_time": batch.this,
        "seq_lens_decoder": batch.dec,
        "seq_lens_encoder": batch.enc,
        "batch_id_per_token_output": np.repeat(np.arange(SLOTS, dtype=np.int32), batch.rows),
        "cu_seqlens_q_output": batch.cu_seqlens_q_output,
        "real_output_token_num": batch.cu_seqlens_q_output[-1:],
    }


WORKLOADS = row_op(workload)
