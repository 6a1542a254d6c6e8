"""What the two verifying ops share: their preconditions, which drafts are accepted, and what a row emits."""

from __future__ import annotations

import numpy as np

from opgold.reference._contract import require, require_capacity


def require_rows(
    live: np.ndarray,
    *,
    tokens: np.ndarray,
    seq_lens_encoder: np.ndarray,
    seq_lens_this_time: np.ndarray,
    cu_seqlens_q_output: np.ndarray,
    output_rows: int,
    step_idx: np.ndarray,
    max_dec_len: np.ndarray,
    end_tokens: np.ndarray,
) -> None:
    """Live slots have lengths of at least 0, columns for their drafts, the output rows of their lengths, and, where
    they may come to their limit, an end token. `live` is of the step's slots, the arrays may have more."""
    bsz, width = len(live), tokens.shape[1]
    n, enc = seq_lens_this_time.astype(np.int64), seq_lens_encoder[:bsz]
    first, end = cu_seqlens_q_output[:-1].astype(np.int64), cu_seqlens_q_output[1:].astype(np.int64)
    rows = np.where(enc > 0, np.minimum(n, 1), n)
    require(~live | (n >= 0), "seq_lens_this_time", n, "a length of at least 0")
    require(~live | (enc >= 0), "seq_lens_encoder", enc, "a length of at least 0")
    require(~live | (rows <= width), "seq_lens_this_time", n, f"at most the {width} columns of drafts")
    require(~live | (end - first == rows), "cu_seqlens_q_output", first, "its successor higher by the slot's rows")
    within = (first >= 0) & (end <= output_rows)
    require(~live | within, "cu_seqlens_q_output", first, f"rows within the {output_rows} output rows")
    if len(end_tokens) == 0:
        reach = [int(step) + int(r) for step, r in zip(step_idx, rows, strict=False)]
        below = np.array([step < limit for step, limit in zip(reach, max_dec_len, strict=False)], bool)
        require(~live | (n == 0) | below, "max_dec_len", max_dec_len[:bsz], "above the step: there is no end token")


def require_window(verify_window: int, slots: int, bsz: int) -> None:
    require_capacity("stop_flags", slots, bsz, "the slots of seq_lens_this_time")
    if verify_window < 0:
        raise ValueError(f"verify_window: {verify_window}, expected at least 0")


def given(argument: str, array: np.ndarray | None, needed_by: str) -> np.ndarray:
    """An optional argument that is needed after all."""
    if array is None:
        raise ValueError(f"{argument}: is not given, expected by {needed_by}")
    return array


def require_candidates(argument: str, ids: np.ndarray) -> None:
    """There is a candidate to fall back on."""
    if ids.shape[1] < 1:
        raise ValueError(f"{argument}: has 0 columns, expected at least 1")


def require_uniforms(live: np.ndarray, uniforms: np.ndarray) -> None:
    require(~live | ((uniforms >= 0) & (uniforms <= 1)), "uniforms", uniforms, "0 to 1")


def matched(drafts: np.ndarray, targets: np.ndarray) -> int:
    """How many drafts are the target of their row, up to the first that is not."""
    differs = np.flatnonzero(drafts != targets[: len(drafts)])
    return int(differs[0]) if differs.size else len(drafts)


def listed(drafts: np.ndarray, ids: np.ndarray, lens: np.ndarray, window: int, *, resume: bool) -> int:
    """How many drafts are among the candidates of their row, up to the first that is not.

    Such a draft still passes as second candidate, whatever the row's length, if the next `window` drafts are first
    candidates; these pass with it, and verification resumes behind them or, without `resume`, ends there.
    """
    i = 0
    while i < len(drafts):
        if drafts[i] in ids[i, : max(0, lens[i])]:
            i += 1
            continue
        end = i + window + 1
        second = ids.shape[1] >= 2 and ids[i, 1] == drafts[i]
        if not second or end > len(drafts) or np.any(ids[i + 1 : end, 0] != drafts[i + 1 : end]):
            return i
        i = end
        if not resume:
            return i
    return i


def drawn(ids: np.ndarray, scores: np.ndarray, length: int, uniform: np.float32, top_p: np.float32) -> int:
    """The first of `length` candidates at which the running sum reaches uniform x top_p, or else candidate 0.

    Product and sums are float32, summed by rank.
    """
    total = np.float32(0)
    with np.errstate(over="ignore", invalid="ignore"):
        for token, score in zip(ids[: max(0, length)], scores, strict=False):
            total += score
            if uniform * top_p <= total:
                return int(token)
    return int(ids[0])


def emitted(
    tokens: list[int], step_idx: int, max_dec_len: int, end_tokens: np.ndarray, *, keep_ends: bool
) -> tuple[list[int], bool]:
    """`tokens` up to the first that ends or reaches the limit, and whether one did.

    One that reaches the limit becomes the first end token, unless it is one itself and `keep_ends`.
    """
    step, limit = int(step_idx), int(max_dec_len)  # of Python, which do not overflow
    for k, token in enumerate(tokens, 1):
        ends, full = token in end_tokens, step + k >= limit
        if full and not (ends and keep_ends):
            return [*tokens[: k - 1], int(end_tokens[0])], True
        if ends:
            return tokens[:k], True
    return tokens, False
