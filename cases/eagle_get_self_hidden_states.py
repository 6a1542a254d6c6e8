"""Inputs of eagle_get_self_hidden_states: slots that go on, that have stopped, and that come from their prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.hidden import DTYPES, columns_permuted, more_rows, surplus, widths, with_value
from opgold.cases.relations import Arrays, Layout, Packed, PerSlot, Whole, insert_idle_slots, permute_slots
from opgold.cases.sample import Sample
from opgold.cases.slots import LIVE, State, batches
from opgold.cases.workload import SLOTS, Batch, row_op


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches((State.IDLE, *LIVE, State.DECODE), min_slots=min_slots, max_prompt=12))
    rng = draw(edges.seeds())
    before, bsz = batch.this, batch.bsz
    goes_on = (before > 0) & (rng.random(bsz) >= draw(st.sampled_from([0, 0.3, 1])))
    first = (batch.enc > 0) | (rng.random(bsz) < draw(st.sampled_from([0, 0, 0.3])))  # idle slots, too
    fresh = first & (before == 0) & (rng.random(bsz) < 0.3)  # goes on though it has not run
    inputs: dict[str, Any] = {
        "last_seq_lens_this_time": before,
        "seq_lens_this_time": np.where(goes_on | fresh, rng.integers(1, 3, bsz), 0).astype(np.int32),
        "step_idx": np.where(first, 1, rng.choice([-1, 0, 2, 3, 2**32 + 1], bsz)),
    }
    tokens, rows = int(consumed(inputs).sum()) + draw(surplus()), int(kept(inputs).sum()) + draw(surplus())
    dtype, width = draw(st.sampled_from(DTYPES)), draw(widths(tokens + rows))
    inputs["input"] = payload.hidden(rng, dtype, tokens, width)
    inputs["out"] = payload.hidden(rng, dtype, rows, width)
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: negative lengths, a slot that goes on without rows, too few rows on either side."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    slot = draw(st.integers(0, len(inputs["step_idx"]) - 1))
    faults = ["length", "length", "nothing run", "huge"]
    faults += ["input"] * bool(consumed(inputs).sum()) + ["out"] * bool(kept(inputs).sum())
    fault = draw(st.sampled_from(faults))
    if fault == "length":
        name = draw(st.sampled_from(["last_seq_lens_this_time", "seq_lens_this_time"]))
        inputs = draw(with_value(inputs, name, slot, list(edges.INT32[:2])))
    elif fault == "nothing run":
        inputs = draw(with_value(inputs, "last_seq_lens_this_time", slot, [0]))
        inputs = draw(with_value(inputs, "seq_lens_this_time", slot, [1]))
        inputs = draw(with_value(inputs, "step_idx", slot, [0, 2]))
    elif fault == "huge":
        too_long = [len(inputs["input"]) + 1, edges.INT32[2]]
        inputs = draw(with_value(inputs, "last_seq_lens_this_time", slot, too_long))
        inputs = draw(with_value(inputs, "step_idx", slot, [0, 2]))
    else:
        need = int((consumed if fault == "input" else kept)(inputs).sum())
        inputs[fault] = inputs[fault][: draw(st.integers(0, need - 1))]
    return replace(sample, inputs=inputs)


def consumed(inputs: Arrays) -> np.ndarray:
    """Rows of `input` of each slot."""
    ran = np.asarray(inputs["last_seq_lens_this_time"])
    return np.where(inputs["step_idx"] == 1, (ran > 0) | (inputs["seq_lens_this_time"] > 0), ran)


def kept(inputs: Arrays) -> np.ndarray:
    """Rows of `out` of each slot."""
    return (np.asarray(inputs["seq_lens_this_time"]) > 0).astype(np.int64)


LAYOUT: Layout = {
    "input": Packed(consumed),
    "last_seq_lens_this_time": PerSlot(),
    "seq_lens_this_time": PerSlot(),
    "step_idx": PerSlot(),
    "out": Packed(kept),
    "output_token_num": Whole(),
}


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    more_rows("input", "out"),
    columns_permuted(),
)


def workload(batch: Batch) -> dict[str, Any]:
    """Every slot goes on."""
    return {
        "input": batch.hidden,
        "last_seq_lens_this_time": batch.this,
        "seq_lens_this_time": np.ones(SLOTS, np.int32),
        "step_idx": np.full(SLOTS, 9),
        "out": np.zeros((SLOTS, batch.width), batch.hidden.dtype),
    }


WORKLOADS = row_op(workload)
