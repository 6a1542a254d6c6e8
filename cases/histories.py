"""How slots with a history are drawn: prompts and generated tokens of few different ids, in either layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import INT64, kinds
from opgold.cases.relations import Arrays, Layout, Packed, PerSlot, Prefix
from opgold.cases.slots import prefix_sum

LAYOUTS = (0, 1)


@st.composite
def slots(draw: st.DrawFn, names: Sequence[str], *, min_slots: int = 0, spare: bool = True) -> tuple[np.ndarray, int]:
    """What each slot of this step does, [bsz], and how many slots the buffers have."""
    does = draw(kinds(names, min_slots=min_slots))
    return does, len(does) + (draw(st.sampled_from([0, 0, 1, 3])) if spare else 0)


@st.composite
def lengths(draw: st.DrawFn, count: int, largest: int = 1025) -> np.ndarray:
    """Lengths of `count` slots, int64: mostly short, in a small batch sometimes one of the catalogue."""
    rng = draw(edges.seeds())
    drawn = rng.integers(0, 7, count)
    if 0 < count <= 8 and draw(st.integers(0, 3)) == 0:
        drawn[rng.integers(0, count)] = draw(edges.sizes(0, largest))
    return drawn.astype(np.int64)


@st.composite
def histories(draw: st.DrawFn, count: int, layout: int, alphabet: np.ndarray, largest: int = 1025) -> dict[str, Any]:
    """token_ids_all, prompt_lens and steps of `count` slots; all cells hold ids of the `alphabet`."""
    rng = draw(edges.seeds())
    prompts = draw(lengths(count, min(largest, 129)))
    steps = draw(lengths(count, largest))
    width = int((prompts + steps).max(initial=0)) + layout + draw(st.sampled_from([0, 0, 1, 5]))
    return {"token_ids_all": rng.choice(alphabet, (count, width)), "prompt_lens": prompts, "steps": steps}


def alphabets(rng: np.random.Generator, size: int) -> np.ndarray:
    """Different ids, some of which share their lower halves."""
    low = rng.permutation(4 * size)[:size].astype(np.int64)
    twin = rng.random(size) < 0.3
    low[twin] = low[0] + (rng.permutation(size)[twin] + 1) * 2**32
    return np.unique(low)


def anywhere(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Any int64."""
    return rng.integers(INT64.min, INT64.max, shape, endpoint=True)


@st.composite
def output_rows(draw: st.DrawFn, rows: np.ndarray, slack: bool = True) -> tuple[dict[str, Any], int]:
    """Prefix sum and batch ids of slots with so many output rows, some of them nobody's; and the rows of logits."""
    rng = draw(edges.seeds())
    ids = np.repeat(np.arange(len(rows)), rows)
    ids[rng.random(len(ids)) < draw(st.sampled_from([0.0, 0.0, 0.3]))] = -1
    behind = draw(st.sampled_from([0, 0, 1, 4])) if slack else 0
    beyond = np.full(draw(st.sampled_from([0, 0, 2])), 0)
    ids = np.concatenate([ids, np.full(behind, -1), beyond]).astype(np.int32)
    return {"cu_seqlens_q_output": prefix_sum(rows), "batch_id_per_token_output": ids}, int(rows.sum()) + behind


def row_counts(inputs: Arrays) -> np.ndarray:
    return np.diff(np.asarray(inputs["cu_seqlens_q_output"]))


def layout_of(*per_slot: str) -> Layout:
    """How arguments lie along the batch: some per slot, the packed rows, and what belongs to all slots."""
    return {
        **{name: PerSlot() for name in per_slot},
        "logits": Packed(row_counts),
        "batch_id_per_token_output": Packed(row_counts, slot_ids=True),
        "cu_seqlens_q_output": Prefix(),
    }


@st.composite
def wrong_row_slot(draw: st.DrawFn, inputs: Arrays) -> dict[str, Any]:
    """A row whose batch id is below -1, past the last slot, or another slot's."""
    ids, rows = np.array(inputs["batch_id_per_token_output"]), len(inputs["logits"])
    starts = np.asarray(inputs["cu_seqlens_q_output"])
    row = draw(st.integers(0, rows - 1))
    owners = [b for b in range(len(starts) - 1) if not starts[b] <= row < starts[b + 1]]
    far = [-2, len(starts) - 1, len(starts), 10_000, -(2**31), 2**31 - 1]
    ids[row] = draw(st.sampled_from([*owners[:2], *owners[-2:], *far]))
    return {"batch_id_per_token_output": ids}
