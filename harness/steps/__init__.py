"""Chains: steps of the target model, from drafts to the next step's history, held to plain one-token decoding."""

from __future__ import annotations

NAME = "target_steps"  # what `opgold check` and the key `sequence` of a file call them

_BEFORE = (
    "speculate_pre_process",
    "build_sampling_params",
    "speculate_get_token_penalty_multi_scores",
    "reasoning_phase_token_constraint",
)
_VERIFY = ("top_p_candidates", "verify_draft_tokens")
_AFTER = (
    "speculate_set_stop_value_multi_seqs",
    "speculate_limit_thinking_content_length",
    "unified_update_model_status",
    "speculate_update",
    "speculate_set_value_by_flags_and_idx",
    "speculate_schedule_cache",
)
OPS = {
    "mtp": ("recover_decode_task", *_BEFORE, *_VERIFY, *_AFTER),
    "ngram": ("recover_decode_task", "ngram_match", *_BEFORE, *_VERIFY, *_AFTER),
    "hybrid": (
        "recover_decode_task",
        "hybrid_mtp_ngram",
        *_BEFORE,
        *_VERIFY,
        *_AFTER,
    ),
    "naive": ("recover_decode_task", *_BEFORE, "naive_update_model_status", *_AFTER),
}


def ops() -> list[str]:
    """Every op that a chain may call."""
    return list(dict.fromkeys(op for method in OPS.values() for op in method))
