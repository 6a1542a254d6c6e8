"""Inputs of top_p_candidates: probabilities with ties, zeros and odd values, any width, any number of candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import put
from opgold.cases.relations import Arrays, Layout, Relation, Whole, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import batches
from opgold.cases.workload import SLOTS, Batch, Workload
from opgold.reference.schema import as_dtype

DTYPES = ("float32", "float32", "float16", "bfloat16")
WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513)
WIDE = (1023, 1025, 2047, 2049, 8200, 16389, 20000)
ELEMENTS = 50_000
ODD = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, 1e-40, 6e-8, -0.5, 3e38)
Rows = Callable[[np.random.Generator, int], np.ndarray]


def _shared(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights / max(weights.sum(), 1e-30))


def _odd(rng: np.random.Generator, width: int) -> np.ndarray:
    values = _shared(rng.random(width) ** 8)
    return np.where(rng.random(width) < 0.3, rng.choice(ODD, width), values)


def _one_hot(rng: np.random.Generator, width: int) -> np.ndarray:
    row = np.zeros(width)
    row[rng.integers(0, width)] = 0.99999994
    return row


KINDS: tuple[Rows, ...] = (
    lambda rng, width: _shared(rng.random(width) ** 8),
    lambda rng, width: _shared(np.exp(8 * rng.standard_normal(width))),
    lambda rng, width: _shared(rng.integers(0, 4, width).astype(float)),
    lambda rng, width: _shared(np.sort(rng.random(width) ** 4)),
    lambda rng, width: _shared(-np.sort(-(rng.random(width) ** 4))),
    lambda rng, width: np.full(width, 1 / width),
    lambda rng, width: np.where(rng.random(width) < 0.1, _shared(rng.random(width)), 0.0),
    lambda rng, width: np.zeros(width),
    _one_hot,
    _odd,
)
LIMITS = (1.0, 1.0, 0.95, 0.5, 0.0, -1.0, 1.5, 1e-30, np.nan, np.inf)


def _limit(rng: np.random.Generator, row: np.ndarray, ranks: int) -> float:
    """The very sum of some ranks of a row, or what lies next to it."""
    ranked = -np.sort(-np.nan_to_num(row.astype(np.float32), nan=0, posinf=0))[:ranks]
    with np.errstate(over="ignore"):
        total = np.add.accumulate(np.maximum(ranked, 0))[rng.integers(0, len(ranked))]
    return float(np.nextafter(total, np.float32(rng.choice([-9, 9, total]))))


@st.composite
def samples(draw: st.DrawFn, *, min_rows: int = 0) -> Sample:
    batch = draw(batches())
    rng = draw(edges.seeds())
    dtype = as_dtype(draw(st.sampled_from(DTYPES)))
    ids = np.repeat(np.arange(batch.bsz), batch.output_rows)[:1025]
    ids = np.where(rng.random(len(ids)) < draw(st.sampled_from([0, 0, 0.3])), -1, ids)
    ids = np.concatenate([ids, np.full(draw(st.integers(max(0, min_rows - len(ids)), 3)), -1)])
    width = draw(st.sampled_from([w for w in WIDTHS + WIDE if w in WIDTHS[:8] or w * len(ids) <= ELEMENTS]))
    ranks = draw(edges.sizes(1, 70, usual=12))
    kinds = rng.integers(0, len(KINDS), len(ids))
    with np.errstate(over="ignore"):
        probs = np.array([KINDS[kind](rng, width) for kind in kinds]).reshape(len(ids), width).astype(dtype)
    top_p = rng.choice(LIMITS, batch.bsz + draw(st.integers(0, 2)))
    for row in np.flatnonzero(ids >= 0):
        if rng.random() < 0.3:
            top_p[ids[row]] = _limit(rng, probs[row], ranks)
    stale = rng.integers(-3, 9, draw(st.integers(0, 3)))
    return Sample(
        {
            "probs": probs,
            "top_p": top_p.astype(dtype),
            "batch_id_per_token_output": np.concatenate([ids, stale]).astype(np.int32),
            "candidates_len": ranks,
            "max_seq_len": draw(st.sampled_from([0, 1, 8192])),
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: ids that no slot has, such as padding offsets, too few ids, no candidates."""
    sample = draw(samples(min_rows=1))
    inputs = dict(sample.inputs)
    rows, slots = len(inputs["probs"]), len(inputs["top_p"])
    highest = int(inputs["batch_id_per_token_output"][:rows].max())
    row, wrong = draw(st.integers(0, rows - 1)), edges.out_of_range(slots).filter(lambda found: found != -1)
    faults: list[Callable[[], dict[str, Any]]] = [
        lambda: put(inputs, "batch_id_per_token_output", row, draw(wrong)),
        lambda: {"candidates_len": 0},
        lambda: {"batch_id_per_token_output": inputs["batch_id_per_token_output"][: draw(st.integers(0, rows - 1))]},
        lambda: {"batch_id_per_token_output": np.arange(slots, slots + rows, dtype=np.int32)},
    ]
    if highest >= 0:
        faults.append(lambda: {"top_p": inputs["top_p"][:highest]})
    return replace(sample, inputs={**inputs, **draw(st.sampled_from(faults))()})


def _arrays(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(sample.inputs["probs"]), np.asarray(sample.inputs["batch_id_per_token_output"])


def _rows_permuted() -> Relation:
    """Rows in another order, each with its id, give the same rows in that order."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        probs, ids = _arrays(sample)
        order = rng.permutation(len(probs))
        moved = np.concatenate([ids[order], ids[len(probs) :]])
        return replace(
            sample, inputs={**sample.inputs, "probs": probs[order].copy(), "batch_id_per_token_output": moved}
        )

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        order = rng.permutation(len(_arrays(sample)[0]))
        return {name: np.asarray(value)[order] for name, value in outputs.items()}

    return Relation("permute rows", transform, expect)


def _slots_renamed(sample: Sample, rng: np.random.Generator) -> Sample:
    """Slots in another order, and the ids renamed."""
    probs, ids = _arrays(sample)
    top_p = np.asarray(sample.inputs["top_p"])
    order = rng.permutation(len(top_p))
    used = ids[: len(probs)]
    renamed = np.where(used < 0, used, np.argsort(order)[np.maximum(used, 0)] if len(order) else -1)
    changed = {"top_p": top_p[order].copy(), "batch_id_per_token_output": renamed.astype(np.int32)}
    return replace(sample, inputs={**sample.inputs, **changed})


def _wider(sample: Sample, rng: np.random.Generator) -> Sample:
    """More columns that hold no probability."""
    probs, _ = _arrays(sample)
    columns = rng.choice([0, -0.0, -1, np.nan, -np.inf], (len(probs), int(rng.integers(1, 40)))).astype(probs.dtype)
    return replace(sample, inputs={**sample.inputs, "probs": np.concatenate([probs, columns], axis=1)})


def _columns_mirrored() -> Relation:
    """Tokens in reverse order. Only where no two probabilities of a row are equal."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        probs, _ = _arrays(sample)
        values = probs.astype(np.float32)
        ranked = np.sort(np.where(values > 0, values, 0), axis=1)
        if np.any((ranked[:, 1:] == ranked[:, :-1]) & (ranked[:, 1:] > 0)):
            return None
        return replace(sample, inputs={**sample.inputs, "probs": probs[:, ::-1].copy()})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        width = _arrays(sample)[0].shape[1]
        listed = np.asarray(outputs["verify_scores"]).astype(np.float32) > 0
        tokens = np.asarray(outputs["verify_tokens"])
        return {**outputs, "verify_tokens": np.where(listed, width - 1 - tokens, tokens)}

    return Relation("mirror the vocabulary", transform, expect)


def _more_rows() -> Relation:
    """More rows that no slot has, between ids and stale ones, are zero."""
    extra = 3

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        probs, ids = _arrays(sample)
        more = rng.random((extra, probs.shape[1])).astype(probs.dtype)
        moved = np.concatenate([ids[: len(probs)], np.full(extra, -1, np.int32), ids[len(probs) :]])
        changed = {"probs": np.concatenate([probs, more]), "batch_id_per_token_output": moved}
        return replace(sample, inputs={**sample.inputs, **changed})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        arrays = {name: np.asarray(value) for name, value in outputs.items()}
        return {n: np.concatenate([a, np.zeros((extra, *a.shape[1:]), a.dtype)]) for n, a in arrays.items()}

    return Relation("more rows without a slot", transform, expect)


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Another max_seq_len, other ids behind the rows, other probabilities of rows that no slot has."""
    probs, ids = np.asarray(inputs["probs"]), np.asarray(inputs["batch_id_per_token_output"])
    behind = np.arange(len(ids)) >= len(probs)
    free = (ids[: len(probs)] < 0)[:, None]
    return {
        "max_seq_len": 77,
        "probs": np.where(free, rng.random(probs.shape).astype(probs.dtype), probs),
        "batch_id_per_token_output": np.where(behind, rng.integers(-(2**31), 2**31, len(ids)), ids).astype(np.int32),
    }


LAYOUT: Layout = {"probs": Whole(), "top_p": Whole(), "batch_id_per_token_output": Whole()}

RELATIONS = (
    _rows_permuted(),
    Relation("rename slots", _slots_renamed, lambda sample, outputs, rng: outputs),
    Relation("wider vocabulary", _wider, lambda sample, outputs, rng: outputs),
    _columns_mirrored(),
    _more_rows(),
    unread("other values where nothing is read", _unread),
)

VOCABULARY = Batch("1,280 rows x 151,936 float32", drafts=5, width=151_936, dtype="float32")
SMALL = Batch("1,280 rows x 512 float32", drafts=5, width=512, dtype="float32")


def workload(batch: Batch) -> dict[str, Any]:
    """Ten candidates of probabilities as a trained model's: a few tokens hold most of the mass."""
    rng = np.random.default_rng(6)
    rows = int(batch.rows.sum())
    weights = np.exp(2 * rng.standard_normal(batch.width, np.float32))
    weights[rng.integers(0, batch.width, 4)] *= np.float32(batch.width)
    weights /= weights.sum()
    probs = np.empty((rows, batch.width), as_dtype(batch.dtype))
    for row in probs:
        row[:] = np.roll(weights, rng.integers(0, batch.width))
    return {
        "probs": probs,
        "top_p": np.full(SLOTS, 0.95, as_dtype(batch.dtype)),
        "batch_id_per_token_output": np.repeat(np.arange(SLOTS, dtype=np.int32), batch.rows),
        "candidates_len": 10,
        "max_seq_len": 8192,
    }


# 450 empty kernels are 1.3 times what one read of the probabilities takes at 4.3 TB/s.
WORKLOADS = (Workload(VOCABULARY, workload, 1.3, "read"), Workload(SMALL, workload, 200_000, "us"))
