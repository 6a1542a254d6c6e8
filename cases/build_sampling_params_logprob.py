"""Inputs of build_sampling_params_logprob: parameters of each type, counts of none up to hundreds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.draft_rows import INT32, anything, put
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Relation,
    grow,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import batches
from opgold.cases.workload import DECODE, PACKED, SLOTS, WITH_PREFILL, Batch, Workload

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45)


def _params(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    if dtype == "bool":
        return np.asarray(rng.random(count) < 0.7)
    if dtype == "int32":
        return np.where(rng.random(count) < 0.7, rng.permutation(count) + 3, anything(rng, count)).astype(np.int32)
    special = rng.choice(np.array(SPECIAL, np.float32), count)
    return np.where(rng.random(count) < 0.3, special, payload.hidden(rng, "float32", count))


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches(max_draft=draw(st.sampled_from([6, 6, 257])), min_slots=min_slots))
    rng = draw(edges.seeds())
    counts = batch.output_rows
    dtype, behind = draw(st.sampled_from(["float32", "int32", "bool"])), draw(st.integers(0, 3))
    return Sample(
        {
            "input_params": _params(rng, dtype, batch.bsz + behind),
            "token_num_per_batch": counts,
            "token_num_output_cpu": int(counts.sum()) + draw(st.one_of(st.just(0), edges.sizes(0, 1025))),
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: negative counts, also ones that cancel, too little capacity, sums past int32."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    counts = np.asarray(inputs["token_num_per_batch"])
    bsz, rows = len(counts), int(counts.sum())
    slot = draw(st.integers(0, max(0, bsz - 2)))

    def cancelling() -> dict[str, Any]:
        changed = counts.copy()
        changed[slot : slot + 2] = [-1, 2]
        return {"token_num_per_batch": changed, "token_num_output_cpu": rows + 2}

    faults: list[Callable[[], dict[str, Any]]] = [
        lambda: put(inputs, "token_num_per_batch", slot, draw(st.sampled_from([-1, -7, INT32.min]))),
        lambda: {"token_num_per_batch": np.full(bsz, INT32.max, np.int32)},
        lambda: {"input_params": inputs["input_params"][: bsz - 1]},
    ]
    if bsz > 1:
        faults.append(cancelling)
    if rows > 0:
        faults.append(lambda: {"token_num_output_cpu": draw(st.integers(0, rows - 1))})
    return replace(sample, inputs={**inputs, **draw(st.sampled_from(faults))()})


def _counts(inputs: Arrays) -> np.ndarray:
    return np.asarray(inputs["token_num_per_batch"])


class Parameters(PerSlot):
    """One for each slot; then some that no slot has stay behind."""

    def reorder(self, array: np.ndarray, order: Any, inputs: Arrays) -> np.ndarray:
        bsz = len(_counts(inputs))
        return np.concatenate([super().reorder(array[:bsz], order, inputs), array[bsz:]])


LAYOUT: Layout = {"input_params": Parameters(), "token_num_per_batch": PerSlot(), "out": Packed(_counts)}


def _more_rows(sample: Sample, extra: int) -> Sample:
    rows = int(sample.inputs["token_num_output_cpu"]) + extra
    return replace(sample, inputs={**sample.inputs, "token_num_output_cpu": rows})


def _grow() -> Relation:
    """`grow` with the filler of the sample's own type."""
    ones, zeros = (grow("grow capacity", _more_rows, {"out": filler}) for filler in (1, 0))

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        relation = zeros if np.asarray(outputs["out"]).dtype == np.bool_ else ones
        return relation.expect(sample, outputs, rng)

    return replace(ones, expect=expect)


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other parameters of slots without rows, and behind the last slot."""
    params, counts = np.asarray(inputs["input_params"]), _counts(inputs)
    used = np.concatenate([counts > 0, np.zeros(len(params) - len(counts), bool)])
    return {"input_params": np.where(used, params, _params(rng, params.dtype.name, len(params)))}


RELATIONS = (
    permute_slots(LAYOUT, "token_num_per_batch"),
    insert_idle_slots(LAYOUT, "token_num_per_batch"),
    _grow(),
    unread("other parameters of slots without rows", _unread),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {
        "input_params": np.random.default_rng(4).random(SLOTS, np.float32) + np.float32(0.1),
        "token_num_per_batch": batch.rows,
        "token_num_output_cpu": int(batch.rows.sum()),
    }


WORKLOADS = (
    Workload(DECODE, workload, 3),
    Workload(WITH_PREFILL, workload, 3),
    Workload(PACKED, workload, 5_000, "us"),
)
