"""The rows of a batch split by class that go on to sampling, in the order of slots."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import require_capacity
from opgold.reference._split_batch import SlotClass, split_batch
from opgold.reference.schema import Hidden, In, Out

VENDORS = ("xpu",)


def sizes(
    x: ndarray,
    encoder_seq_lod: ndarray,
    encoder_batch_map: ndarray,
    len_info_cpu: ndarray,
    is_speculative: bool,
    max_bsz: int,
) -> dict[str, int]:
    """`rows`: every token except all but the last of each prompt chunk or, not speculative, one a slot."""
    if not is_speculative:
        return {"rows": max_bsz if max_bsz > 0 else len(encoder_batch_map)}
    chunks = int(np.clip(len_info_cpu[0], 0, len(encoder_batch_map)))
    prompt_tokens = int(np.clip(encoder_seq_lod[chunks], 0, len(x)))
    return {"rows": len(x) - prompt_tokens + chunks}


def gather_next_token(
    x: In[Hidden[ndarray, "tokens dim_embed"]],
    encoder_seq_lod: In[Int32[ndarray, "bsz+1"]],
    decoder_seq_lod: In[Int32[ndarray, "bsz+1"]],
    encoder_batch_map: In[Int32[ndarray, "bsz"]],
    decoder_batch_map: In[Int32[ndarray, "bsz"]],
    encoder_seq_lod_cpu: In[Int32[ndarray, "bsz+1"]],
    decoder_seq_lod_cpu: In[Int32[ndarray, "bsz+1"]],
    encoder_batch_map_cpu: In[Int32[ndarray, "bsz"]],
    decoder_batch_map_cpu: In[Int32[ndarray, "bsz"]],
    len_info_cpu: In[Int32[ndarray, "7"]],
    *,
    is_speculative: bool,
    max_bsz: int,
    out: Out[Hidden[ndarray, "rows dim_embed"]],
) -> None:
    """Pick the last row of a prompt chunk and the rows of a decode slot. Equals rebuild_padding on rows in slot order.

    `x` holds the rows of the `len_info_cpu[0]` prompt chunks, then those of the `len_info_cpu[1]` decode slots.
    `encoder_batch_map`, `decoder_batch_map` are the slots of each class; `encoder_seq_lod`, `decoder_seq_lod` say from
    which row on each of them stands within its class. Speculative: the last row of a prompt chunk, all rows of a decode
    slot, slot after slot. Otherwise row b of `out` is slot b's, the first one of a decode slot, with `max_bsz` rows or,
    where that is not positive, one for each entry of `encoder_batch_map`. Further rows of `out` are zero in both
    modes. What the arrays hold behind their last slot is not looked at, nor is the rest of `len_info_cpu`.

    Raises ValueError for host copies that differ, counts that are negative or above the arrays' length, a slot without
    rows, slots that do not ascend, are listed twice or are none of the batch, and too few rows in `x` or `out`. Source:
    the newest XPU form of the op, with idle slots, and batches without prompt chunks, as rebuild_padding has them.
    """
    prompts = SlotClass(
        "encoder_batch_map", encoder_batch_map, encoder_batch_map_cpu, encoder_seq_lod, encoder_seq_lod_cpu
    )
    decodes = SlotClass(
        "decoder_batch_map", decoder_batch_map, decoder_batch_map_cpu, decoder_seq_lod, decoder_seq_lod_cpu
    )
    slots = split_batch(len(x), len_info_cpu, prompts, decodes, gaps=True)
    if is_speculative:
        need = sum(1 if slot.prompt else slot.count for slot in slots)
        require_capacity("out", len(out), need, "rows: the output rows of all slots")
    else:
        need = max((slot.slot + 1 for slot in slots), default=0)
        require_capacity("out", len(out), need, "rows: one a slot, up to the last slot with rows")

    out[:] = 0
    row = 0
    for slot in slots:
        rows = x[slot.split : slot.split + slot.count]
        picked = rows[-1:] if slot.prompt else rows
        if not is_speculative:
            out[slot.slot] = picked[0]
            continue
        out[row : row + len(picked)] = picked
        row += len(picked)
