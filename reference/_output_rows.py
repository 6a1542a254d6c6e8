"""What golden models over packed output rows and generated history share: whose a row is, and where history lies."""

from __future__ import annotations

import numpy as np

from opgold.reference._contract import require

HISTORY_LAYOUTS = (0, 1)


def require_row_slots(ids: np.ndarray, starts: np.ndarray, rows: int) -> None:
    """Each of the first `rows` ids is -1, or a slot b with starts[b] <= row < starts[b + 1]."""
    if len(ids) < rows:
        raise ValueError(f"batch_id_per_token_output: {len(ids)} ids, expected at least {rows}, one a row of logits")
    found, row, bsz = ids[:rows].astype(np.int64), np.arange(rows), len(starts) - 1
    require((found >= -1) & (found < bsz), "batch_id_per_token_output", found, f"-1, or a slot below {bsz}")
    slot = np.maximum(found, 0)
    inside = (found == -1) | (bsz > 0)
    if bsz > 0:
        inside &= (found == -1) | ((starts[slot] <= row) & (row < starts[slot + 1]))
    require(inside, "batch_id_per_token_output", found, "-1, or the slot whose cu_seqlens_q_output holds the row")


def require_slots(slots: int, bsz: int, argument: str = "prompt_lens") -> None:
    """The per-slot buffers hold the `bsz` slots of this step."""
    if slots < bsz:
        raise ValueError(f"{argument}: {slots} slots, expected at least {bsz}, the slots of seq_lens_this_time")


def require_layout(history_layout: int) -> None:
    if history_layout not in HISTORY_LAYOUTS:
        raise ValueError(f"history_layout: {history_layout}, expected 0 (count) or 1 (index)")


def require_history(
    live: np.ndarray, prompt_lens: np.ndarray, steps: np.ndarray, name: str, width: int, history_layout: int
) -> None:
    """In `live` slots prompt and `steps` generated tokens lie inside a row of `width` tokens."""
    require(~live | (prompt_lens >= 0), "prompt_lens", prompt_lens, "a length of at least 0")
    require(~live | (steps >= 0), name, steps, "at least 0 generated tokens")
    room = width - history_layout - np.where(live, np.minimum(prompt_lens, width), 0)
    expected = f"a history that ends inside the {width} columns of token_ids_all"
    require(~live | ((prompt_lens <= width) & (steps <= room)), name, steps, expected)


def generated(row: np.ndarray, prompt_len: int, count: int, history_layout: int) -> np.ndarray:
    """The first `count` generated tokens of a slot: from the prompt's end (layout 0) or one entry later (layout 1)."""
    start = int(prompt_len) + history_layout
    return row[start : start + max(0, int(count))]
