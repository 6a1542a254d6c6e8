"""Packed rows of a batch split by class, back in the order of slots."""

from __future__ import annotations

from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._split_batch import SlotClass, split_batch
from opgold.reference.schema import HiddenOrIds, In, Out

VENDORS = ("xpu",)


def recover_batch_sequence(
    x: In[HiddenOrIds[ndarray, "tokens dim_embed"]],
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
    out: Out[HiddenOrIds[ndarray, "tokens dim_embed"]],
) -> None:
    """Put rows back in the order of slots: the inverse of adjust_batch, also behind the last slot's rows.

    `x` holds the rows of the `len_info_cpu[0]` prompt chunks, then those of the `len_info_cpu[1]` decode slots.
    `encoder_batch_map`, `decoder_batch_map` are the slots of each class; `encoder_seq_lod`, `decoder_seq_lod` say from
    which row on each of them stands within its class. Only the order of the slots matters, so ranks without gaps will
    do for their numbers. What the arrays hold behind their last slot is not looked at, nor is the rest of
    `len_info_cpu`.

    Raises ValueError for host copies that differ, counts that are negative or above the arrays' length, a slot without
    rows, slots that do not ascend, are listed twice or are none of the batch, and fewer rows than the slots have.
    Source: the newest XPU form of the op, with its tail defined.
    """
    prompts = SlotClass(
        "encoder_batch_map", encoder_batch_map, encoder_batch_map_cpu, encoder_seq_lod, encoder_seq_lod_cpu
    )
    decodes = SlotClass(
        "decoder_batch_map", decoder_batch_map, decoder_batch_map_cpu, decoder_seq_lod, decoder_seq_lod_cpu
    )
    slots = split_batch(len(x), len_info_cpu, prompts, decodes, gaps=True)

    out[:] = x
    for slot in slots:
        out[slot.ordered : slot.ordered + slot.count] = x[slot.split : slot.split + slot.count]
