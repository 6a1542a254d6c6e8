"""What the inputs of the two n-gram ops have in common, and drafts worked out in another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from opgold.cases.relations import Arrays, Layout, Relation, permute_slots
from opgold.cases.sample import Sample

ENOUGH = 10**9  # a threshold that no batch reaches


def thresholds(rng: np.random.Generator, tokens: int, wanted: int) -> st.SearchStrategy[int]:
    """Token budgets: none, a few around what a batch has and would like, enough."""
    between = [int(rng.integers(tokens, tokens + wanted + 2)) for _ in range(3)]
    return st.sampled_from([ENOUGH, ENOUGH, *between, tokens + 1, tokens + 2, max(0, tokens - 1), 0, -5])


def drafts_of(texts: Sequence[list[int]], pattern: list[int], wanted: int, longest: int, shortest: int) -> list[int]:
    """Drafts found by looking at one place after another."""
    for size in range(longest, shortest - 1, -1):
        if size > len(pattern) or wanted <= 0:
            continue
        for text in texts:
            hits = (at for at in range(len(text) - size + 1) if text[at : at + size] == pattern[-size:])
            drafts = text[next(hits, len(text)) + size :][:wanted]
            if drafts:
                return drafts
    return []


def shared(bases: Sequence[int], drafts: Sequence[list[int]], cut: Sequence[bool], threshold: int) -> list[list[int]]:
    """The drafts each slot keeps, where the slots before count what they were granted, not what they wished."""
    kept: list[list[int]] = []
    spent = 0
    for b, base in enumerate(bases):
        room = threshold - spent - sum(other > 0 for other in bases[b + 1 :]) - base
        kept.append(list(drafts[b][: max(0, room)]) if cut[b] else [])
        spent += base + len(kept[b])
    return kept


def permuted_within_budget(layout: Layout, slots: str) -> Relation:
    """Slots in another order find the same drafts where the budget cuts none."""
    any_order = permute_slots(layout, slots)

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        return any_order.transform(sample, rng) if sample.inputs.get("threshold") == ENOUGH else None

    return replace(any_order, transform=transform)


def renamed_tokens(*arguments: str) -> Relation:
    """Ids are only compared: other ids, drafts of other ids."""

    def renamed(arrays: Arrays, sample: Sample, rng: np.random.Generator) -> dict[str, np.ndarray]:
        by = int(rng.integers(1, 2**40)) * 2 + 1
        return {
            name: (np.asarray(arrays[name]).astype(np.uint64) * np.uint64(by)).astype(np.int64)
            for name in arguments
            if name in arrays
        }

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        return replace(sample, inputs={**sample.inputs, **renamed(sample.inputs, sample, rng)})

    return Relation("rename tokens", transform, lambda sample, out, rng: {**out, **renamed(out, sample, rng)})
