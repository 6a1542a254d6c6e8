"""Inputs of build_sampling_params: slots of no row up to hundreds, seeds at both ends of a modulus of any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.draft_rows import INT32, INT64, anything, put, wide_ids
from opgold.cases.output_rows import Leading, rows_of
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Prefix,
    Relation,
    agrees,
    grow,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import batches, prefix_sum
from opgold.cases.workload import DECODE, PACKED, SLOTS, WITH_PREFILL, Batch, Workload

MODULI = (2**63 - 2, 2**63 - 2, 2**31 - 2, 2**63 - 1, 2**62 + 1, 1000, 7, 1)
FLOATS = (np.nan, np.inf, -0.0, 0.0, 1.0, 1e-45)


def _seeds(rng: np.random.Generator, modulus: int, count: int) -> np.ndarray:
    """Seeds below the modulus, many of them so near to it that a row or an increment goes past."""
    near = np.minimum(modulus, rng.integers(1, 700, count))
    uniform = rng.integers(0, modulus, count)
    return np.choose(rng.integers(0, 3, count), [modulus - near, near - 1, uniform]).astype(np.int64)


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches(max_draft=draw(st.sampled_from([6, 6, 257])), min_slots=min_slots))
    rng = draw(edges.seeds())
    bsz, behind, rows = batch.bsz, draw(st.integers(0, 3)), int(batch.output_rows.sum())
    modulus = draw(st.sampled_from(MODULI))
    increments = [0, 4, 4 * int(batch.output_rows.max(initial=1)), modulus - 1, modulus, INT64.max]
    top_p = payload.hidden(rng, "float32", bsz + behind)
    special = rng.random(bsz + behind) < 0.3
    return Sample(
        {
            "top_p": np.where(special, rng.choice(np.array(FLOATS, np.float32), bsz + behind), top_p),
            "top_k": wide_ids(rng, bsz + behind),
            "infer_seed": np.concatenate([_seeds(rng, modulus, bsz), anything(rng, behind, INT64)]),
            "seq_lens_this_time": batch.this,
            "cu_seqlens_q_output": prefix_sum(batch.output_rows),
            "token_num_output_cpu": rows + draw(st.one_of(st.just(0), edges.sizes(0, 1025))),
            "increment_value": draw(st.sampled_from([*increments, int(rng.integers(0, 2**63 - 1))])),
            "max_infer_seed": modulus,
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: seeds outside the modulus, sums that fall or are noise, too little capacity."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    rng = draw(edges.seeds())
    sums, bsz = inputs["cu_seqlens_q_output"], len(inputs["seq_lens_this_time"])
    slot = int(rng.integers(0, bsz))
    wrong_seeds = [-1, INT64.min, inputs["max_infer_seed"], INT64.max]

    def noise() -> dict[str, Any]:
        wild = rng.integers(-3, inputs["token_num_output_cpu"] + 3, bsz + 1).astype(np.int32)
        wild[0] = draw(st.sampled_from([*edges.INT32, 1]))
        return {"cu_seqlens_q_output": wild}

    faults: list[Callable[[], dict[str, Any]]] = [
        lambda: put(inputs, "infer_seed", slot, draw(st.sampled_from(wrong_seeds))),
        lambda: {"max_infer_seed": draw(st.sampled_from([0, -1, INT64.min]))},
        lambda: {"increment_value": draw(st.sampled_from([-1, -4, INT64.min]))},
        lambda: {name: inputs[name][: bsz - 1] for name in ("top_p", "top_k", "infer_seed")},
        lambda: put(inputs, "cu_seqlens_q_output", slot, int(sums[slot + 1]) + draw(st.integers(1, 3))),
        lambda: put(inputs, "cu_seqlens_q_output", bsz, draw(st.sampled_from([-1, INT32.min, INT32.max]))),
        lambda: {"cu_seqlens_q_output": sums + 1, "token_num_output_cpu": inputs["token_num_output_cpu"] + 1},
        lambda: {"cu_seqlens_q_output": (sums - draw(st.sampled_from([1, int(sums[-1]) + 2]))).astype(np.int32)},
        noise,
        noise,
    ]
    if sums[-1] > 0:
        faults.append(lambda: {"token_num_output_cpu": draw(st.integers(0, int(sums[-1]) - 1))})
    return replace(sample, inputs={**inputs, **draw(st.sampled_from(faults))()})


def _outputs(inputs: Arrays) -> Arrays:
    """All rows at once, in Python's integers."""
    rows, starts = rows_of(inputs), np.asarray(inputs["cu_seqlens_q_output"])
    slots, tail = np.repeat(np.arange(len(rows)), rows), int(inputs["token_num_output_cpu"]) - int(starts[-1])
    modulus, seeds = int(inputs["max_infer_seed"]), np.asarray(inputs["infer_seed"]).astype(object)
    index = (np.arange(len(slots)) - starts[slots]).astype(object)
    after = seeds.copy()
    after[: len(rows)] = (seeds[: len(rows)] + int(inputs["increment_value"])) % modulus
    columns = {
        "top_p_padding": (np.asarray(inputs["top_p"])[slots], 1),
        "top_k_padding": (np.asarray(inputs["top_k"])[slots], 1),
        "topp_seed": (((seeds[slots] + 4 * index) % modulus).astype(np.int64), 0),
    }
    padded = {n: np.concatenate([v, np.full(tail, end, v.dtype)])[:, None] for n, (v, end) in columns.items()}
    return {**padded, "infer_seed": after.astype(np.int64)}


LAYOUT: Layout = {
    "top_p": Leading(),
    "top_k": Leading(),
    "infer_seed": Leading(),
    "seq_lens_this_time": PerSlot(),
    "cu_seqlens_q_output": Prefix(),
    "top_p_padding": Packed(rows_of),
    "top_k_padding": Packed(rows_of),
    "topp_seed": Packed(rows_of),
}


def _other_seeds_kept(relation: Relation) -> Relation:
    """An inserted idle slot's seed advances, which its layout does not know: seeds are left to another relation."""

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        return {k: v for k, v in relation.expect(sample, outputs, rng).items() if k != "infer_seed"}

    return replace(relation, expect=expect)


def _more_rows(sample: Sample, extra: int) -> Sample:
    rows = int(sample.inputs["token_num_output_cpu"]) + extra
    return replace(sample, inputs={**sample.inputs, "token_num_output_cpu": rows})


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    return {"seq_lens_this_time": anything(rng, len(inputs["seq_lens_this_time"])).astype(np.int32)}


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    _other_seeds_kept(insert_idle_slots(LAYOUT, "seq_lens_this_time")),
    grow("grow capacity", _more_rows, {"top_p_padding": 1, "top_k_padding": 1, "topp_seed": 0}),
    unread("other lengths", _unread),
    agrees("all rows at once", _outputs),
)


def workload(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    return {
        "top_p": rng.random(SLOTS, np.float32) + np.float32(0.1),
        "top_k": rng.integers(1, 100, SLOTS),
        "infer_seed": rng.integers(1, 2**62, SLOTS),
        "seq_lens_this_time": batch.this,
        "cu_seqlens_q_output": batch.cu_seqlens_q_output,
        "token_num_output_cpu": int(batch.rows.sum()),
        "increment_value": 4 * batch.drafts,
        "max_infer_seed": 2**63 - 2,
    }


WORKLOADS = (
    Workload(DECODE, workload, 2.5),
    Workload(WITH_PREFILL, workload, 2.5),
    Workload(PACKED, workload, 10_000, "us"),
)
