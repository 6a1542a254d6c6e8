"""Warm-up batches, and how many rows each model sees in them: a graph has only the rows that its warm-up ran.

Source: the Python glue, sections 4.2 and 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass

EXPERT_PARALLEL_PROMPT = 32


@dataclass(frozen=True)
class Rows:
    """Rows a slot in each decode round: those that the target runs, those that the draft's substep 0 runs, if any."""

    target: tuple[int, ...]
    draft: tuple[int, ...]


def expected_decode_len(num_speculative_tokens: int) -> int:
    """Tokens that every warm-up row decodes, the same for target and proposer and on every rank: two full rows."""
    return 2 * (num_speculative_tokens + 1)


def warm_up_batch(size: int, width: int) -> int:
    """Slots that warm up a graph of `size` tokens. Raises ValueError for a size that is no number of full rows."""
    if width < 1:
        raise ValueError(f"width: {width}, expected at least 1")
    if size < width or size % width:
        raise ValueError(f"size: {size}, expected a multiple of {width}, the tokens of a row")
    return size // width


def warm_up_prompt(
    chunk_tokens: int, batch: int, max_model_len: int, decode_len: int, *, expert_parallel: bool = False
) -> int:
    """Tokens of every prompt: the slot's share of a chunk, and what leaves room for `decode_len + 1` tokens.

    With expert parallelism at most 32. Raises ValueError if no token is left.
    """
    length = min(chunk_tokens // batch, max_model_len - decode_len - 1)
    if length < 1:
        raise ValueError(f"decode_len: {decode_len} of {max_model_len}, and {chunk_tokens} tokens for {batch} slots, "
                         "leave no token of a prompt")  # fmt: skip
    return min(length, EXPERT_PARALLEL_PROMPT) if expert_parallel else length


def warm_up_rows(decode_len: int, model_steps: int, *, accept_all: bool = True) -> Rows:
    """What both models see of a slot that decodes `decode_len` tokens after the prompt's, `max_dec_len` one more.

    A draft round gives the next target round `1 + model_steps` rows. It is skipped where the slot has stopped or
    `step_idx + model_steps` reaches `max_dec_len`: then the target has 1 row. A target round accepts its rows, or 1
    without `accept_all`, and stops the slot at `max_dec_len`. Substep 0 of a draft round runs the accepted rows.

    Raises ValueError for a length or a number of steps below 1.
    """
    for name, value in (("decode_len", decode_len), ("model_steps", model_steps)):
        if value < 1:
            raise ValueError(f"{name}: {value}, expected at least 1")
    step, most = 1, decode_len + 1
    target: list[int] = []
    draft: list[int] = []
    while step < most:
        target.append(1 if step + model_steps >= most else 1 + model_steps)
        accepted = min(target[-1] if accept_all else 1, most - step)
        step += accepted
        if step + model_steps < most:
            draft.append(accepted)
    return Rows(tuple(target), tuple(draft))


def prefill_lengths(tokens: int, max_num_seqs: int) -> list[int]:
    """Prompt lengths of a warm-up of prefill alone, for target and proposer: 1, and all that is left in the last slot.

    Fewer tokens than slots are one token in as many slots. Raises ValueError for fewer than 1 token or slot.
    """
    for name, value in (("tokens", tokens), ("max_num_seqs", max_num_seqs)):
        if value < 1:
            raise ValueError(f"{name}: {value}, expected at least 1")
    slots = min(tokens, max_num_seqs)
    return [1] * (slots - 1) + [tokens - slots + 1]
