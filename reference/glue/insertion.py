"""What an insertion writes into a slot of the proposer's batch, and of the target's on a decode instance.

Names are FastDeploy's; an array that a batch lacks is passed over. Lengths are in tokens. Each function returns the
names that the contract defines, whether the batch has them or not. Source: the Python glue, section 7; why rollback and
recomputation are as they are: the draft model's ops, section 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opgold.reference.glue.groups import Batch

NOW = "seq_lens_this_time_buffer"


def insert_prompt_chunk(
    proposer: Batch,
    slot: int,
    prompt: np.ndarray,
    start: int,
    length: int,
    *,
    outputs: int = 0,
    model_steps: int = 1,
    offsets: np.ndarray | None = None,
) -> set[str]:
    """Tokens `start` to `start + length` (excluded) of a prompt, in a mixed instance or, with 1 model step, in one that
    only prefills.

    `outputs` tokens have been given out so far: the step, if the chunk ends the prompt. The draft runs the chunk one
    token ahead: its last input is not known yet. `offsets` are the request's mask ends. Nothing is rolled back, and the
    next round recomputes what it always does, `model_steps - 1`.

    Raises ValueError for a chunk outside the prompt or the row, for offsets that end before it, and for a slot that is
    not there.
    """
    if not 0 <= start < start + length <= len(prompt):
        raise ValueError(
            f"length: {start} to {start + length}, expected a part of the {len(prompt)} tokens of the prompt"
        )
    if model_steps < 1:
        raise ValueError(f"model_steps: {model_steps}, expected at least 1")
    end = start + length
    writes: dict[str, Any] = {
        **_lengths(length, start, length),
        "step_idx": outputs if end == len(prompt) else 0,
        "mask_rollback": 0,
        "recompute_token_num": model_steps - 1,
        "stop_flags": False,
        "batch_drop": False,
        "is_block_step": False,
        "pre_ids": -1,
    }
    fronts = {"input_ids": prompt[start + 1 : end]}
    if offsets is not None:
        if len(offsets) < end:
            raise ValueError(f"offsets: {len(offsets)}, expected at least {end}, the end of the chunk")
        fronts["attn_mask_offsets_full"] = offsets[start:end]
        writes["attn_mask_offsets_decoder"] = offsets[end - 1] + 1
    return _write(proposer, slot, writes, fronts)


def insert_decode(proposer: Batch, slot: int, cached: int, drafts: int, *, step: int) -> set[str]:
    """A request that another instance has prefilled, with `cached` tokens and `drafts` drafts: its first round takes
    one position back, and recomputes nothing. Raises ValueError for a slot that is not there, and negative numbers."""
    for name, value in (("cached", cached), ("drafts", drafts), ("step", step)):
        if value < 0:
            raise ValueError(f"{name}: {value}, expected at least 0")
    writes = {**_lengths(0, cached, drafts + 1), "step_idx": step, "mask_rollback": 1, "recompute_token_num": 0}
    return _write(proposer, slot, writes, {})


def insert_target_decode(target: Batch, slot: int, tokens: np.ndarray, method: str) -> set[str]:
    """The target's part of it: `tokens` are the first token and its drafts, with `mtp` exactly 2, with `suffix` and
    `naive` 1. Raises ValueError for another number, and for a slot that is not there."""
    expected = {"mtp": 2, "suffix": 1, "naive": 1}.get(method, len(tokens))
    if len(tokens) != expected:
        raise ValueError(f"tokens: {len(tokens)}, expected {expected} with {method}")
    return _write(target, slot, {NOW: len(tokens)}, {"draft_tokens": tokens})


def preempt(proposer: Batch, slot: int) -> set[str]:
    """A request leaves its slot, preempted or aborted. Raises ValueError for a slot that is not there."""
    writes = {**_lengths(0, 0, 0), "block_tables": -1, "stop_flags": True, "is_block_step": False}
    return _write(proposer, slot, writes, {})


def _lengths(encoder: int, decoder: int, now: int) -> dict[str, Any]:
    return {"seq_lens_encoder": encoder, "seq_lens_decoder": decoder, NOW: now}


def _write(batch: Batch, slot: int, rows: dict[str, Any], fronts: dict[str, np.ndarray]) -> set[str]:
    """Fill the slot's row of each array, or its front alone."""
    names = [name for name in (*rows, *fronts) if batch.get(name) is not None]
    for name in names:
        array = batch[name]
        if not 0 <= slot < len(array):
            raise ValueError(f"slot {slot}: {name} has {len(array)} rows, expected 0 to {len(array) - 1}")
        if name in fronts and len(fronts[name]) > array.shape[1]:
            raise ValueError(f"{name}: a row of {array.shape[1]}, expected at least {len(fronts[name])}")
    for name in names:
        if name in fronts:
            batch[name][slot, : len(fronts[name])] = fronts[name]
        else:
            batch[name][slot] = rows[name]
    return {*rows, *fronts}
