"""What the inputs of ops on packed logits rows have in common: rows of each slot, widths, offsets, a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.draft_rows import INT32, Fault, flags, put
from opgold.cases.hidden import surplus, widths
from opgold.cases.relations import Arrays
from opgold.cases.slots import batches, prefix_sum
from opgold.cases.step_slots import THIS, wrong_values
from opgold.cases.workload import PACKED_HIDDEN, Batch, Workload

ENC = "seq_lens_encoder"
LOGITS = Batch("1,280 rows x 16,384 float32", drafts=5, width=16384, dtype="float32")


@st.composite
def lengths(draw: st.DrawFn, rng: np.random.Generator, *, min_slots: int = 0) -> dict[str, Any]:
    """Tokens and encoder lengths of prompt chunks, decode and idle slots; a prompt's two lengths may differ."""
    batch = draw(batches(min_slots=min_slots))
    enc = np.where((batch.enc > 0) & flags(rng, batch.bsz), rng.integers(1, INT32.max, batch.bsz), batch.enc)
    return {THIS: batch.this, ENC: enc.astype(np.int32)}


def held(inputs: Arrays) -> np.ndarray:
    """Logits rows that each slot has, [bsz]."""
    this = np.asarray(inputs[THIS])
    return np.where(np.asarray(inputs[ENC])[: len(this)] > 0, 1, this)


def with_first(inputs: Arrays) -> np.ndarray:
    """Rows of each slot, [bsz], with a prompt's first token before its own."""
    return held(inputs) + (np.asarray(inputs[ENC])[: len(np.asarray(inputs[THIS]))] > 0)


@st.composite
def logits(draw: st.DrawFn, rng: np.random.Generator, rows: Mapping[str, int], spare: Sequence[str]) -> dict[str, Any]:
    """Arrays of at least `rows` float32 rows of one width; more of them in those of `spare`."""
    extra = {name: draw(surplus()) if name in spare else 0 for name in rows}
    width = draw(widths(sum(rows.values()) + sum(extra.values())))
    return {name: payload.hidden(rng, "float32", count + extra[name], width) for name, count in rows.items()}


def accepted(rng: np.random.Generator, most: np.ndarray) -> np.ndarray:
    """How many tokens each slot accepts: none, one, all or some of `most`."""
    coin = rng.integers(0, 4, len(most))
    some = rng.integers(0, most + 1)
    return np.asarray(np.select([coin == 0, coin == 1, coin == 2], [0 * most, np.minimum(1, most), most], some))


def sums(lengths: np.ndarray, rng: np.random.Generator, behind: int) -> np.ndarray:
    """A prefix sum, int32, with `behind` entries of anything behind it."""
    return np.concatenate([prefix_sum(lengths), rng.integers(-9, 99, behind)]).astype(np.int32)


def length_faults(inputs: Arrays) -> list[Fault]:
    """Negative lengths, and prompts without tokens."""
    bsz = len(inputs[THIS])
    every, prompt = np.ones(bsz, bool), np.asarray(inputs[ENC])[:bsz] > 0
    negative = [fault for name in (THIS, ENC) for fault in wrong_values(inputs, every, name, edges.INT32[:2])]
    return negative + wrong_values(inputs, prompt, THIS, [0])


def sum_faults(inputs: Arrays, name: str, rng: np.random.Generator) -> list[Fault]:
    """A prefix sum with one wrong element, without its last, of noise, falling."""
    bsz, values = len(inputs[THIS]), np.asarray(inputs[name])
    entries, once = np.ones(bsz + 1, bool), np.ones(1, bool)

    def wild(_: int) -> dict[str, Any]:
        noise = rng.integers(-3, max(4, int(values[bsz]) + 3), len(values)).astype(np.int32)
        noise[0] = rng.choice([1, *edges.INT32])
        return {name: noise}

    def near(at: int) -> dict[str, Any]:
        return put(inputs, name, at, int(values[at]) + int(rng.choice([-1, 1, 1000])))

    found: list[Fault] = [(entries, near), (entries, near), (entries, near), (once, wild), (once, wild)]
    found += [(once, lambda _: {name: values[:bsz]}), (once, lambda _: {name: values[::-1].copy() + 1})]
    return found + wrong_values(inputs, entries, name, edges.INT32)


def cut_faults(inputs: Arrays, needs: Mapping[str, int], rng: np.random.Generator) -> list[Fault]:
    """An array with fewer rows than the op needs."""

    def cut(name: str) -> Callable[[int], dict[str, Any]]:
        return lambda _: {name: np.asarray(inputs[name])[: int(rng.integers(0, needs[name]))].copy()}

    return 3 * [(np.ones(1, bool), cut(name)) for name, need in needs.items() if need > 0]


def logits_op(inputs: Callable[[Batch], dict[str, Any]], limit: float = 1.15) -> tuple[Workload, ...]:
    """The workloads of an op that moves logits rows, with its limit in copies of the same bytes."""
    return (Workload(LOGITS, inputs, limit, "copy"), Workload(PACKED_HIDDEN, inputs, 25_000, "us"))
