"""Inputs of pre_cache_len_concat: cached lengths round the tile size, stopped slots, entries at and above the need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.hidden import with_value
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Prefix,
    Relation,
    Whole,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, STRANGE, batches
from opgold.cases.workload import Batch, index_op
from opgold.reference.pre_cache_len_concat import sizes


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    batch = draw(batches((*ORDINARY, *STRANGE), min_slots=min_slots))
    rng = draw(edges.seeds())
    block_size = draw(st.sampled_from([1, 2, 3, 7, 16, 64, 2**31 - 1, 2**40]))
    round_tiles = block_size * rng.integers(0, 5, batch.bsz) + rng.integers(-1, 2, batch.bsz)
    edgy = (rng.random(batch.bsz) < 0.5) & (round_tiles > 0) & (round_tiles < 1000)
    dec = np.where(edgy & (batch.dec > 0), round_tiles, batch.dec).astype(np.int32)
    inputs: dict[str, Any] = {
        "seq_lens_decoder": dec,
        "seq_lens_this_time": batch.this,
        "max_dec_len": int(dec[batch.this > 0].max(initial=0)) + draw(st.integers(0, 9)),
        "block_size": block_size,
    }
    need = int(_tiles(inputs).sum())
    chosen = {"tiles": need + draw(st.integers(0, 300))} if draw(st.integers(0, 3)) == 0 else {}
    return Sample(inputs, chosen)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: negative lengths, more cached than promised, huge sums, too few entries."""
    sample = draw(samples(min_slots=1))
    inputs: dict[str, Any] = dict(sample.inputs)
    need = int(_tiles(inputs).sum())
    slot = draw(st.integers(0, len(inputs["seq_lens_decoder"]) - 1))
    fault = draw(st.sampled_from(["length", "longer", "sum", "block size"] + ["entries"] * (need > 0)))
    if fault == "entries":
        return replace(sample, sizes={"tiles": draw(st.integers(0, need - 1))})
    if fault == "length":
        name = draw(st.sampled_from(["seq_lens_decoder", "seq_lens_this_time"]))
        inputs = draw(with_value(inputs, name, slot, list(edges.INT32[:2])))
    elif fault == "longer":
        inputs = draw(with_value(inputs, "seq_lens_this_time", slot, [1]))
        inputs = draw(with_value(inputs, "seq_lens_decoder", slot, [inputs["max_dec_len"] + 1, edges.INT32[2]]))
    elif fault == "sum":
        inputs = draw(with_value(inputs, "seq_lens_this_time", slot, [edges.INT32[2]]))
        inputs["seq_lens_decoder"] = np.ones_like(inputs["seq_lens_decoder"])
        inputs |= {"max_dec_len": 9, "block_size": 4}
    else:
        inputs["block_size"] = draw(st.sampled_from([0, -1]))
    kept = {"tiles": sizes(inputs["seq_lens_decoder"], sample.inputs["max_dec_len"], 1)["tiles"]}
    return replace(sample, inputs=inputs, sizes=kept if draw(st.booleans()) else {})


def _tiles(inputs: Arrays) -> np.ndarray:
    cached = np.where(inputs["seq_lens_this_time"] > 0, inputs["seq_lens_decoder"], 0).astype(np.int64)
    return np.asarray(-(-cached // inputs["block_size"]))


LAYOUT: Layout = {
    "seq_lens_decoder": PerSlot(),
    "seq_lens_this_time": PerSlot(),
    "cu_seqlens_k": Prefix(),
    "batch_ids": Packed(_tiles, slot_ids=True),
    "tile_ids": Packed(_tiles),
    "num_blocks": Whole(),
    "kv_token_num": Whole(),
}


def _entries(sample: Sample) -> int:
    inputs = sample.inputs
    natural = sizes(np.asarray(inputs["seq_lens_decoder"]), inputs["max_dec_len"], inputs["block_size"])["tiles"]
    return int(sample.sizes.get("tiles", natural))


def _with_entries(relation: Relation) -> Relation:
    """The relation, with as many entries as before whatever the number of slots."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        changed = relation.transform(sample, rng)
        return None if changed is None else replace(changed, sizes={"tiles": _entries(sample)})

    return replace(relation, transform=transform)


def _other_cached(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other cached lengths in slots that run no tokens."""
    dec = np.asarray(inputs["seq_lens_decoder"])
    other = rng.integers(0, 2**31, dec.shape).astype(np.int32)
    return {"seq_lens_decoder": np.where(np.asarray(inputs["seq_lens_this_time"]) > 0, dec, other)}


def _one_tile_more() -> Relation:
    """A tile of cached tokens more in each running slot that has some: a tile more, numbered after its others."""

    def changed(sample: Sample) -> Sample:
        dec, size = np.asarray(sample.inputs["seq_lens_decoder"]), sample.inputs["block_size"]
        running = (np.asarray(sample.inputs["seq_lens_this_time"]) > 0) & (dec > 0)
        longer = {
            "seq_lens_decoder": (dec + running * size).astype(np.int32),
            "max_dec_len": sample.inputs["max_dec_len"] + size,
        }
        return Sample({**sample.inputs, **longer}, {"tiles": _entries(sample) + int(running.sum())})

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        return changed(sample) if sample.inputs["block_size"] < 100 else None

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        counts = _tiles(sample.inputs)
        before, used = counts[counts > 0], int(counts.sum())
        ends = np.cumsum(before)
        tile_ids = np.insert(np.asarray(outputs["tile_ids"]), ends, before)
        batch_ids = np.insert(np.asarray(outputs["batch_ids"]), ends, np.asarray(outputs["batch_ids"])[ends - 1])
        return {"tile_ids": tile_ids, "batch_ids": batch_ids, "num_blocks": np.array([used + len(before)], np.int32)}

    return Relation("one tile more", transform, expect)


RELATIONS = (
    _with_entries(permute_slots(LAYOUT, "seq_lens_this_time")),
    _with_entries(insert_idle_slots(LAYOUT, "seq_lens_this_time")),
    unread("other cached lengths of slots without tokens", _other_cached),
    _one_tile_more(),
)


def workload(batch: Batch) -> dict[str, Any]:
    return {"seq_lens_decoder": batch.dec, "seq_lens_this_time": batch.this, "max_dec_len": 4096, "block_size": 64}


WORKLOADS = index_op(workload)
