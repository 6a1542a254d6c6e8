"""Sequences: whole rounds of multi-token prediction, played through the ops and held to an account of their own."""

from __future__ import annotations

NAME = "mtp_rounds"  # what `opgold check` and the key `sequence` of a file call them

COMMON = ("speculate_pre_process", "draft_model_postprocess")
OPS = {
    "stateful": ("draft_model_preprocess", "update_attn_mask_offsets", "draft_model_update", *COMMON),
    "stateless": (
        "draft_model_preprocess_shadow",
        "update_attn_mask_offsets_stateless",
        "draft_model_update_packed",
        *COMMON,
    ),
}


def ops() -> list[str]:
    """Every op that a sequence may call."""
    return list(dict.fromkeys(op for form in OPS.values() for op in form))
