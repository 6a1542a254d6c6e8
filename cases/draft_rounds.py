"""What the inputs of the two preprocessing ops have in common: accepted tokens, and the rows that they go to."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.draft_rows import INT32, INT64, Fault, anything, between, cut, fill, flags, put, puts, wide_ids
from opgold.cases.relations import Arrays


@st.composite
def rounds(
    draw: st.DrawFn, prompt: np.ndarray, decode: np.ndarray, rng: np.random.Generator, *, base: str, appended: int
) -> dict[str, Any]:
    """Rows of which some are prompt chunks (with room for `appended` tokens) and some take accepted tokens.

    `base` is how the op names the model that verified. All other rows hold anything.
    """
    bsz, live = len(prompt), prompt | decode
    drafts, accepts = draw(edges.sizes(0, 40)), draw(edges.sizes(int(prompt.any()), 40))
    history, longest = draw(edges.sizes(1, 129)), draw(edges.sizes(1, 129)) + appended
    zeros = np.zeros(bsz, np.int64)
    accepted = between(rng, zeros, zeros + min(drafts, accepts, history))
    return {
        "draft_tokens": wide_ids(rng, bsz, drafts),
        "input_ids": wide_ids(rng, bsz, longest),
        "stop_flags": flags(rng, bsz),
        "seq_lens_this_time": anything(rng, bsz).astype(np.int32),
        "seq_lens_encoder": fill(
            prompt, between(rng, zeros + 1, zeros + longest - appended), np.where(decode, 0, anything(rng, bsz))
        ),
        "seq_lens_decoder": anything(rng, bsz).astype(np.int32),
        "step_idx": anything(rng, bsz, INT64),
        "not_need_stop": flags(rng, 1),
        "pre_ids": wide_ids(rng, bsz, history),
        "accept_tokens": wide_ids(rng, bsz, accepts),
        "accept_num": fill(decode, accepted, anything(rng, bsz)),
        f"{base}_seq_lens_encoder": anything(rng, bsz).astype(np.int32),
        f"{base}_seq_lens_decoder": fill(decode, accepted + rng.integers(0, 9, bsz), anything(rng, bsz)),
        f"{base}_step_idx": fill(
            live,
            np.where(decode, between(rng, accepted, zeros + history), rng.integers(0, 9, bsz)),
            anything(rng, bsz, INT64),
            np.int64,
        ),
        f"{base}_stop_flags": ~live,
        f"{base}_draft_tokens": wide_ids(rng, bsz, draw(edges.sizes(0, 40))),
    }


def faults(inputs: Arrays, prompt: np.ndarray, decode: np.ndarray, *, base: str, appended: int) -> list[Fault]:
    """What either op refuses."""
    step, cached = f"{base}_step_idx", f"{base}_seq_lens_decoder"
    accepted = np.asarray(inputs["accept_num"])
    columns = min(inputs["draft_tokens"].shape[1], inputs["accept_tokens"].shape[1])
    history, longest = inputs["pre_ids"].shape[1], inputs["input_ids"].shape[1]
    found: list[Fault] = [
        (prompt, lambda slot: cut(inputs, "accept_tokens", 0)),
        (prompt, lambda slot: cut(inputs, "input_ids", int(inputs["seq_lens_encoder"][slot]) + appended - 1)),
        (decode & (accepted > 0), lambda slot: cut(inputs, "draft_tokens", int(accepted[slot]) - 1)),
        (decode & (accepted > 0), lambda slot: cut(inputs, "accept_tokens", int(accepted[slot]) - 1)),
        (decode, lambda slot: put(inputs, step, slot, int(accepted[slot]) - 1)),
    ]
    for rows, name, values in (
        (prompt, "seq_lens_encoder", (longest - appended + 1, INT32.max)),
        (decode, "seq_lens_encoder", (-1, INT32.min)),
        (decode, "accept_num", (-1, INT32.min, columns + 1, INT32.max)),
        (decode, step, (-1, INT64.min, history + 1, INT64.max)),
    ):
        found += [(rows, puts(inputs, name, value)) for value in values]
    if base == "target_model":
        found.append((decode, lambda slot: put(inputs, cached, slot, int(accepted[slot]) - 1)))
    return found
