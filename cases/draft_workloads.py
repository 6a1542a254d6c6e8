"""The draft model's rows of a benchmark's batch, under the names that its ops share."""

from __future__ import annotations

from typing import Any

import numpy as np

from opgold.cases.workload import PREFILL, SLOTS, Batch

HISTORY = 2 * PREFILL  # columns of pre_ids


def rows(batch: Batch) -> dict[str, Any]:
    """State between two ops of a round: every slot runs its tokens, none is stopped."""
    return {
        "draft_tokens": batch.ids(SLOTS, max(batch.drafts, 1) + 1),
        "pre_ids": batch.ids(SLOTS, HISTORY),
        "seq_lens_this_time": batch.this,
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "step_idx": np.full(SLOTS, 100, np.int64),
        "stop_flags": np.zeros(SLOTS, bool),
        "not_need_stop": np.zeros(1, bool),
    }


def accepted(batch: Batch, base: str) -> dict[str, Any]:
    """What the target model gives to the start of a round, all but one token accepted. `base` starts its names."""
    return rows(batch) | {
        "input_ids": batch.ids(SLOTS, PREFILL + 1),
        "accept_tokens": batch.ids(SLOTS, max(batch.drafts, 1)),
        "accept_num": np.full(SLOTS, max(batch.drafts - 1, 1), np.int32),
        f"{base}_seq_lens_encoder": np.zeros(SLOTS, np.int32),
        f"{base}_seq_lens_decoder": batch.dec + np.int32(100),
        f"{base}_step_idx": np.full(SLOTS, 100, np.int64),
        f"{base}_stop_flags": np.zeros(SLOTS, bool),
        f"{base}_draft_tokens": batch.ids(SLOTS, max(batch.drafts, 1) + 1),
        "num_model_step": 3,
    }


def sampled(batch: Batch, count: int) -> dict[str, Any]:
    """What the end of a substep gets: `count` sampled tokens, none an end token, and lengths far from limits."""
    return rows(batch) | {
        "inter_next_tokens": batch.ids(count),
        "cu_seqlens_q_output": batch.cu_seqlens_q_output,
        "max_dec_len": np.full(SLOTS, 10_000, np.int64),
        "end_ids": np.array([1, 2], np.int64),
        "base_model_draft_tokens": batch.ids(SLOTS, max(batch.drafts, 1) + 1),
        "max_seq_len": PREFILL,
        "substep": 0,
    }
