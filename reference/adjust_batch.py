"""Packed rows, those of prompt chunks moved before those of decode slots."""

from __future__ import annotations

from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._split_batch import SlotClass, split_batch
from opgold.reference.schema import HiddenOrIds, In, Out

VENDORS = ("xpu",)


def adjust_batch(
    x: In[HiddenOrIds[ndarray, "tokens dim_embed"]],
    encoder_seq_lod: In[Int32[ndarray, "bsz+1"]],
    decoder_seq_lod: In[Int32[ndarray, "bsz+1"]],
    encoder_batch_idx: In[Int32[ndarray, "bsz"]],
    decoder_batch_idx: In[Int32[ndarray, "bsz"]],
    encoder_seq_lod_cpu: In[Int32[ndarray, "bsz+1"]],
    decoder_seq_lod_cpu: In[Int32[ndarray, "bsz+1"]],
    encoder_batch_idx_cpu: In[Int32[ndarray, "bsz"]],
    decoder_batch_idx_cpu: In[Int32[ndarray, "bsz"]],
    len_info_cpu: In[Int32[ndarray, "7"]],
    output_padding_offset: In[Int32[ndarray, "offsets"]] | None = None,
    *,
    max_input_length: int,
    out: Out[HiddenOrIds[ndarray, "tokens dim_embed"]],
) -> None:
    """Move the rows of all prompt chunks before those of all decode slots; each class keeps its order.

    Slots with rows are numbered by rank, without gaps: the k-th of the `len_info_cpu[0]` prompt chunks is slot
    `encoder_batch_idx[k]`, the k-th of the `len_info_cpu[1]` decode slots is `decoder_batch_idx[k]`. `x` holds their
    rows slot after slot, and `encoder_seq_lod`, `decoder_seq_lod` say from which row on each of them stands within its
    class. Rows behind the last slot's keep their place. What the arrays hold behind their last slot is not looked at,
    nor are `max_input_length` and the rest of `len_info_cpu`.

    Raises ValueError for host copies that differ, counts that are negative or above the arrays' length, a slot without
    rows, slots that do not ascend, are listed twice or leave a gap, fewer rows than the slots have, and for an
    `output_padding_offset`. Source: the newest XPU form of the op, with its tail defined.
    """
    if output_padding_offset is not None:
        raise ValueError("output_padding_offset: is given, expected none")
    prompts = SlotClass(
        "encoder_batch_idx", encoder_batch_idx, encoder_batch_idx_cpu, encoder_seq_lod, encoder_seq_lod_cpu
    )
    decodes = SlotClass(
        "decoder_batch_idx", decoder_batch_idx, decoder_batch_idx_cpu, decoder_seq_lod, decoder_seq_lod_cpu
    )
    slots = split_batch(len(x), len_info_cpu, prompts, decodes, gaps=False)

    out[:] = x
    for slot in slots:
        out[slot.split : slot.split + slot.count] = x[slot.ordered : slot.ordered + slot.count]
