"""Batches split by class, as an XPU keeps them: the arrays that describe one, and how they lie along its slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.hidden import surplus, widths, with_value
from opgold.cases.relations import Arrays, Packed, PerSlot, Relation, Whole, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, Batch, State, batches, prefix_sum

Numbers = Literal["map", "idx"]  # slots by their number in the batch, or by their rank among those with rows
CLASSES = ("encoder", "decoder")


@dataclass(frozen=True)
class Split:
    """Of each slot of a batch: which class it is in, bool, and its rows."""

    prompt: np.ndarray
    decode: np.ndarray
    rows: np.ndarray

    @property
    def live(self) -> np.ndarray:
        return np.asarray(self.prompt | self.decode)

    def members(self, name: str) -> np.ndarray:
        """The slots of a class, ascending."""
        return np.flatnonzero(self.prompt if name == "encoder" else self.decode)

    def reordered(self, order: Sequence[int]) -> Split:
        """The batch whose slot k is the slot `order[k]` of this one."""
        prompt, decode, rows = (PerSlot().reorder(a, order, {}) for a in (self.prompt, self.decode, self.rows))
        return Split(prompt, decode, rows)

    @property
    def by_class(self) -> np.ndarray:
        """The slots with rows, prompt chunks first."""
        return np.concatenate([self.members(name) for name in CLASSES])


def of_lengths(inputs: Arrays) -> Split:
    """Of a batch as its length vectors describe it."""
    enc, dec, this = (np.asarray(inputs[f"seq_lens_{name}"]) for name in ("encoder", "decoder", "this_time"))
    decode = (enc <= 0) & (dec > 0) & (this > 0)
    return Split(enc > 0, decode, np.where(enc > 0, enc, np.where(decode, this, 0)))


def of_arrays(inputs: Arrays) -> Split:
    """Of a batch as the arrays of its classes describe it; slots behind the last one listed have no rows."""
    numbers: Numbers = "map" if "encoder_batch_map" in inputs else "idx"
    bsz = len(np.asarray(inputs[f"encoder_batch_{numbers}"]))
    listed, rows = [], np.zeros(bsz, np.int64)
    for name, count in zip(CLASSES, np.asarray(inputs["len_info_cpu"]), strict=False):
        slots = np.asarray(inputs[f"{name}_batch_{numbers}"])[:count]
        rows[slots] = np.diff(np.asarray(inputs[f"{name}_seq_lod"])[: count + 1])
        listed.append(np.isin(np.arange(bsz), slots))
    return Split(listed[0], listed[1], rows)


def arrays_of(split: Split, numbers: Numbers, rng: np.random.Generator) -> dict[str, Any]:
    """The arrays that describe a batch, anything behind the last slot of each, host copies apart."""
    bsz, arrays = len(split.rows), {}
    ranks = np.cumsum(split.live) - 1

    def behind(values: np.ndarray, length: int) -> np.ndarray:
        rest = rng.integers(-(2**31), 2**31, length - len(values))
        return np.concatenate([values, rest]).astype(np.int32)

    for name in CLASSES:
        slots = split.members(name)
        for copy in ("", "_cpu"):
            arrays[f"{name}_batch_{numbers}{copy}"] = behind(slots if numbers == "map" else ranks[slots], bsz)
            arrays[f"{name}_seq_lod{copy}"] = behind(prefix_sum(split.rows[slots]), bsz + 1)
    arrays["len_info_cpu"] = behind(np.array([split.prompt.sum(), split.decode.sum()]), 7)
    return arrays


@st.composite
def split_samples(
    draw: st.DrawFn,
    numbers: Numbers,
    dtypes: Sequence[str],
    *,
    states: Sequence[State] = ORDINARY,
    min_slots: int = 0,
) -> dict[str, Any]:
    """`x` and the arrays of a batch, with room for more slots than it has, and rows behind the last slot's."""
    batch: Batch = draw(batches(states, min_slots=min_slots))
    rng = draw(edges.seeds())
    more = draw(st.sampled_from([0, 0, 1, 5]))
    split = of_lengths(
        {
            "seq_lens_encoder": np.append(batch.enc, np.zeros(more, np.int32)),
            "seq_lens_decoder": np.append(batch.dec, np.zeros(more, np.int32)),
            "seq_lens_this_time": np.append(batch.this, np.zeros(more, np.int32)),
        }
    )
    tokens = int(split.rows.sum()) + draw(surplus())
    dtype = draw(st.sampled_from(list(dtypes)))
    width = 1 if dtype == "int64" and draw(st.booleans()) else draw(widths(tokens))
    return {"x": payload.hidden(rng, dtype, tokens, width), **arrays_of(split, numbers, rng)}


@st.composite
def with_fault(draw: st.DrawFn, inputs: Arrays, numbers: Numbers) -> dict[str, Any]:
    """`inputs` of a batch with slots, and one thing wrong with the arrays."""
    split, bsz = of_arrays(inputs), len(of_arrays(inputs).rows)
    counts = {name: len(split.members(name)) for name in CLASSES}
    changed = dict(inputs)
    name = draw(st.sampled_from([name for name in CLASSES if counts[name]]))
    k = draw(st.integers(0, counts[name] - 1))
    slots, lod = f"{name}_batch_{numbers}", f"{name}_seq_lod"

    def put(argument: str, index: int, values: Sequence[int]) -> None:
        for copy in ("", "_cpu"):
            changed.update(draw(with_value(changed, argument + copy, index, list(values))))

    faults = ["twin", "count", "slot", "lod", "no rows", "rows", "noise"] + ["twice"] * (sum(counts.values()) > 1)
    fault = draw(st.sampled_from(faults))
    if fault == "twin":
        argument = draw(st.sampled_from([slots, lod]))
        wrong = [int(changed[argument][k]) + 1, *edges.INT32[::2]]
        return draw(with_value(changed, argument + draw(st.sampled_from(["", "_cpu"])), k, wrong))
    if fault == "count":
        which = draw(st.integers(0, 1))
        return draw(with_value(changed, "len_info_cpu", which, [-1, bsz + 1, edges.INT32[0], edges.INT32[2]]))
    if fault == "slot":
        put(slots, k, [-1, -2, *edges.INT32[::2], bsz])
    elif fault == "twice":
        other = CLASSES[name == "encoder"]
        if counts[other]:
            put(slots, k, [int(changed[f"{other}_batch_{numbers}"][0])])
        else:
            put(slots, 1, [int(changed[slots][0])])
    elif fault == "lod":
        put(lod, draw(st.sampled_from([0, k + 1])), [-1, *edges.INT32[::2], len(changed["x"]) + 1])
    elif fault == "no rows":
        put(lod, k + 1, [int(changed[lod][k])])
    elif fault == "rows":
        changed["x"] = changed["x"][: draw(st.integers(0, int(split.rows.sum()) - 1))]
    else:
        rng = draw(edges.seeds())
        for argument, length, most in ((lod, bsz + 1, len(changed["x"])), (slots, bsz, bsz)):
            noise = rng.integers(-3, most + 4, length).astype(np.int32)
            noise[0] = draw(st.sampled_from([edges.INT32[0], edges.INT32[2], -1]))
            changed |= {argument: noise, f"{argument}_cpu": noise}
    return changed


@dataclass(frozen=True)
class Listed:
    """One entry for each slot of a class, then those of slots without any, then what stands behind the last slot.

    `values`: what an entry says of its slot, where that follows from the batch: its number, its rank.
    """

    name: str
    split_of: Callable[[Arrays], Split]
    values: Literal["number", "rank"] | None = None

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        split = self.split_of(inputs)
        after = split.reordered(order)
        old, new = split.members(self.name), after.members(self.name)
        if self.values == "number":
            entries = new
        elif self.values == "rank":
            entries = (np.cumsum(after.live) - 1)[new]
        else:
            entries = array[[int(np.searchsorted(old, order[slot])) for slot in new]]
        rest = np.zeros(len(order) - len(new), array.dtype)
        return np.concatenate([entries, rest, array[len(split.rows) :]]).astype(array.dtype)


@dataclass(frozen=True)
class Summed:
    """The sums of such entries, element 0 included; behind the last 0 or, `repeated`, the last one."""

    name: str
    split_of: Callable[[Arrays], Split]
    repeated: bool = False

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        split = self.split_of(inputs)
        count, bsz = len(split.members(self.name)), len(split.rows)
        single = Listed(self.name, self.split_of)
        entries = np.zeros(bsz, np.int64)
        entries[:count] = np.diff(array[: count + 1].astype(np.int64))
        sums = np.concatenate([[0], np.cumsum(single.reorder(entries, order, inputs))])
        if not self.repeated:
            sums[count + 1 :] = 0
        return np.concatenate([sums, array[bsz + 1 :]]).astype(array.dtype)


@dataclass(frozen=True)
class ByClass:
    """Rows of all slots of a class, slot after slot, then those of the next class; then what stands behind them."""

    split_of: Callable[[Arrays], Split]
    names: Sequence[str] = CLASSES

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        split = self.split_of(inputs)
        after = split.reordered(order)
        old = np.concatenate([split.members(name) for name in self.names])
        new = np.concatenate([after.members(name) for name in self.names])
        starts = dict(zip(old.tolist(), prefix_sum(split.rows[old]).tolist(), strict=False))
        rows = [array[starts[order[slot]] :][: after.rows[slot]] for slot in new]
        return np.concatenate([*rows, array[int(split.rows[old].sum()) :]])


def rows_of(inputs: Arrays) -> np.ndarray:
    """Rows of each slot, [bsz]."""
    return of_arrays(inputs).rows


def layout(numbers: Numbers) -> dict[str, Any]:
    """How the arrays of a batch lie along its slots. Anything may stand behind the last one of each."""
    axes: dict[str, Any] = {"len_info_cpu": Whole()}
    for name in CLASSES:
        for copy in ("", "_cpu"):
            listed = Listed(name, of_arrays, "number" if numbers == "map" else "rank")
            axes |= {f"{name}_batch_{numbers}{copy}": listed, f"{name}_seq_lod{copy}": Summed(name, of_arrays)}
    return axes


IN_SLOT_ORDER = Packed(rows_of)
IN_SPLIT_ORDER = ByClass(of_arrays)


def unread_entries(numbers: Numbers) -> Relation:
    """Other entries behind the last slot of each class, host copies apart, and other counts of `len_info_cpu`."""

    def change(inputs: Arrays, rng: np.random.Generator) -> Arrays:
        fresh = arrays_of(of_arrays(inputs), numbers, rng)
        return {name: array.astype(np.int32) for name, array in fresh.items()}

    return unread("other entries behind the last slot's", change)


def more_rows(sample: Sample, extra: int) -> Sample:
    """The same batch in `extra` more rows, all of them 7."""
    x = np.asarray(sample.inputs["x"])
    grown = np.concatenate([x, np.full((extra, x.shape[1]), 7, x.dtype)])
    return replace(sample, inputs={**sample.inputs, "x": grown})
