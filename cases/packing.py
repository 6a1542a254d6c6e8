"""What the two packing ops' inputs have in common: rows of token ids, of which each slot's lengths say what is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, payload
from opgold.cases.relations import Arrays, unread
from opgold.cases.sample import Sample
from opgold.cases.slots import Batch

LONGEST_PROMPT = 1025


@st.composite
def token_rows(draw: st.DrawFn, batch: Batch, max_draft: int | None) -> dict[str, Any]:
    """input_ids and, unless `max_draft` is None, draft_tokens of that width, none of their ids alike."""
    rng = draw(edges.seeds())
    longest = batch.longest_prompt if max_draft else max(batch.longest_prompt, batch.longest_decode)
    inputs = {"input_ids": payload.token_ids(rng, batch.bsz, longest + draw(st.integers(0, 2)))}
    if max_draft is not None:
        inputs["draft_tokens"] = payload.token_ids(rng, batch.bsz, max_draft) + 2**33
    return inputs


def encoder_lengths(batch: Batch) -> st.SearchStrategy[np.ndarray]:
    """The batch's encoder lengths, or shorter ones: these ops look only at whether there is one."""
    return st.sampled_from([batch.enc, np.minimum(batch.enc, 1)])


def capacities(tokens: int) -> st.SearchStrategy[int]:
    """A token count for `tokens` tokens: just enough, or more."""
    return st.one_of(st.just(0), edges.sizes(0, 1025)).map(lambda extra: tokens + extra)


@st.composite
def with_wrong_length(draw: st.DrawFn, inputs: Arrays, argument: str) -> dict[str, Any]:
    """`inputs` with one length of an argument negative or, in seq_len, beyond the row that the tokens come from."""
    lengths = np.asarray(inputs[argument]).copy()
    slot = draw(st.integers(0, len(lengths) - 1))
    wrong = [-1, edges.INT32[0]]
    if argument == "seq_len":
        rows = inputs["draft_tokens" if drafting(inputs)[slot] else "input_ids"]
        wrong += [np.asarray(rows).shape[1] + 1, 10_000, edges.INT32[2]]
    lengths[slot] = draw(st.sampled_from(wrong))
    return {**inputs, argument: lengths}


def more_capacity(sample: Sample, extra: int) -> Sample:
    """The same tokens in `extra` more rows."""
    return replace(sample, inputs={**sample.inputs, "cpu_token_num": sample.inputs["cpu_token_num"] + extra})


def drafting(inputs: Arrays) -> np.ndarray:
    """Which slots take their tokens from draft_tokens, bool [bsz]."""
    drafts = inputs.get("draft_tokens")
    drafts_given = drafts is not None and drafts.shape[1] > 0
    encoder = inputs["seq_lens_encoder"] if drafts_given else np.ones_like(inputs["seq_len"])
    return np.asarray(encoder == 0)


def _unread_cells(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other ids in all cells that no slot's lengths cover."""
    changed = {}
    for name, reads in (("input_ids", ~drafting(inputs)), ("draft_tokens", drafting(inputs))):
        rows = inputs.get(name)
        if isinstance(rows, np.ndarray):
            read = reads[:, None] & (np.arange(rows.shape[1]) < np.asarray(inputs["seq_len"])[:, None])
            changed[name] = np.where(read, rows, rng.integers(-(2**40), 2**40, rows.shape))
    return changed


def _longer_prompts(inputs: Arrays, rng: np.random.Generator) -> Arrays | None:
    """Encoder lengths of other sizes, none of them to or from 0."""
    encoder = inputs.get("seq_lens_encoder")
    if not isinstance(encoder, np.ndarray):
        return None
    return {"seq_lens_encoder": np.where(encoder > 0, rng.integers(1, 2**31, encoder.shape), 0).astype(np.int32)}


UNREAD_CELLS = unread("other ids where nothing is read", _unread_cells)
ENCODER_BY_SIGN = unread("other encoder lengths", _longer_prompts)
