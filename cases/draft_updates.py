"""What the inputs of the two update ops have in common: rows in one step of the draft model."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import (
    INT32,
    INT64,
    Fault,
    anything,
    beside,
    between,
    cut,
    fill,
    flags,
    put,
    puts,
    wide_ids,
)
from opgold.cases.relations import Arrays

VECTORS = [
    "seq_lens_this_time",
    "seq_lens_encoder",
    "seq_lens_decoder",
    "step_idx",
    "max_dec_len",
    "cu_seqlens_q_output",
]


@st.composite
def steps(draw: st.DrawFn, prompt: np.ndarray, decode: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Rows of which some run a prompt chunk and some run tokens of their draft row. All others hold anything.

    Leaves out the sampled tokens, end tokens and stop flags.
    """
    bsz, zeros = len(prompt), np.zeros(len(prompt), np.int64)
    drafts, history = draw(edges.sizes(1, 40)), draw(edges.sizes(2, 129))
    width = draw(edges.sizes(2, 40))
    substep = draw(st.sampled_from([0, width - 2, draw(st.integers(0, width - 2))]))
    this = np.where(
        decode, between(rng, zeros + 1, zeros + min(drafts, history - 1)), between(rng, zeros + 1, zeros + 9)
    )
    enc = rng.integers(1, 9, bsz)
    step = np.where(decode, between(rng, zeros, history - 1 - this), rng.integers(0, 9, bsz))
    cached = np.where(rng.random(bsz) < 0.2, INT32.max - np.where(prompt, enc, this), rng.integers(1, 9, bsz))
    cached = np.where(prompt & flags(rng, bsz), 0, cached)
    after = step + np.where(prompt, 1, this)
    limit = np.where(flags(rng, bsz), after + 40, between(rng, after - 1, after + 2))
    return {
        "draft_tokens": wide_ids(rng, bsz, drafts),
        "pre_ids": wide_ids(rng, bsz, history),
        "seq_lens_this_time": fill(prompt | decode, this, anything(rng, bsz)),
        "seq_lens_encoder": fill(prompt, enc, np.where(decode, 0, anything(rng, bsz))),
        "seq_lens_decoder": fill(prompt | decode, cached, anything(rng, bsz)),
        "step_idx": fill(prompt | decode, step, anything(rng, bsz, INT64), np.int64),
        "not_need_stop": flags(rng, 1),
        "max_dec_len": np.where(rng.random(bsz) < 0.9, limit, anything(rng, bsz, INT64)),
        "base_model_draft_tokens": wide_ids(rng, bsz, width),
        "max_seq_len": draw(st.sampled_from([0, 1, 8192])),
        "substep": substep,
    }


def faults(inputs: Arrays, prompt: np.ndarray, decode: np.ndarray, moving: np.ndarray) -> list[Fault]:
    """What either op refuses. `moving` rows of a draft advance."""
    live, once = prompt | decode, np.ones(1, bool)
    drafts, history = inputs["draft_tokens"].shape[1], inputs["pre_ids"].shape[1]
    width, this = inputs["base_model_draft_tokens"].shape[1], np.asarray(inputs["seq_lens_this_time"])
    found: list[Fault] = [
        (once, beside({"substep": substep}, lambda _: {})) for substep in (-1, width - 1, width, INT32.max)
    ]
    found += [
        (decode, lambda slot: put(inputs, "seq_lens_encoder", slot, 0) | put(inputs, "seq_lens_decoder", slot, 0)),
        (prompt, lambda _: cut(inputs, "pre_ids", 1)),
        (live, lambda _: cut(inputs, "draft_tokens", 0)),
        (moving, lambda slot: put(inputs, "step_idx", slot, history - int(this[slot]))),
    ]
    for rows, name, values in (
        (live, "seq_lens_this_time", (-1, INT32.min)),
        (decode, "seq_lens_this_time", (drafts + 1, INT32.max)),
        (live, "seq_lens_encoder", (-1, INT32.min)),
        (live, "seq_lens_decoder", (-1, INT32.min)),
        (prompt | moving, "seq_lens_decoder", (INT32.max,)),
        (live, "step_idx", (-1, INT64.min, INT64.max)),
    ):
        found += [(rows, puts(inputs, name, value)) for value in values]
    return found
