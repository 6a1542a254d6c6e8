"""How many packed rows each slot gives to sampling and to the caller of log-probabilities."""

from __future__ import annotations

import numpy as np

from opgold.reference._contract import require, require_lengths, require_slots


def next_rows(seq_lens_this_time: np.ndarray, seq_lens_encoder: np.ndarray) -> np.ndarray:
    """Logits rows of each slot, int64 [bsz]: one for a prompt chunk (encoder length), else one a token.

    Raises ValueError for negative lengths, a held prefill, and fewer encoder lengths than slots.
    """
    bsz = len(seq_lens_this_time)
    require_slots(bsz, seq_lens_encoder=seq_lens_encoder)
    enc = seq_lens_encoder[:bsz]
    require_lengths(seq_lens_this_time=seq_lens_this_time, seq_lens_encoder=enc)
    expected = "tokens: the slot has an encoder length (a held prefill)"
    require((enc == 0) | (seq_lens_this_time > 0), "seq_lens_this_time", seq_lens_this_time, expected)
    return np.where(enc > 0, 1, seq_lens_this_time).astype(np.int64)


def require_accepted(accept_num: np.ndarray, rows: np.ndarray) -> None:
    """No slot accepts more tokens than it has logits rows."""
    fits = (accept_num >= 0) & (accept_num <= rows)
    require(fits, "accept_num", accept_num, "0 to the logits rows of the slot")
