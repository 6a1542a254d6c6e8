"""What XPU attention has to know of a batch: its slots by class, where their rows stand, and their cache blocks."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import (
    prefix_sum,
    require,
    require_capacity,
    require_lengths,
    require_no_ghost,
)
from opgold.reference.schema import In, InOut, Out

VENDORS = ("xpu",)


def sizes(seq_lens_encoder: ndarray) -> dict[str, int]:
    """`prompt_tokens`: those of all prompt chunks."""
    return {"prompt_tokens": int(seq_lens_encoder[seq_lens_encoder > 0].sum(dtype=np.int64))}


def get_infer_param(
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    block_tables: In[Int32[ndarray, "rows blocks"]],
    encoder_batch_map: InOut[Int32[ndarray, "slots"]],
    decoder_batch_map: InOut[Int32[ndarray, "slots"]],
    encoder_batch_idx: InOut[Int32[ndarray, "slots"]],
    decoder_batch_idx: InOut[Int32[ndarray, "slots"]],
    encoder_seq_lod: InOut[Int32[ndarray, "sums"]],
    decoder_seq_lod: InOut[Int32[ndarray, "sums"]],
    encoder_kv_lod: InOut[Int32[ndarray, "sums"]],
    prefix_len: InOut[Int32[ndarray, "slots"]],
    decoder_context_len: InOut[Int32[ndarray, "slots"]],
    decoder_context_len_cache: InOut[Int32[ndarray, "slots"]],
    prefix_block_tables: InOut[Int32[ndarray, "prefix_rows prefix_blocks"]],
    encoder_batch_map_cpu: InOut[Int32[ndarray, "slots"]],
    decoder_batch_map_cpu: InOut[Int32[ndarray, "slots"]],
    encoder_batch_idx_cpu: InOut[Int32[ndarray, "slots"]],
    decoder_batch_idx_cpu: InOut[Int32[ndarray, "slots"]],
    encoder_seq_lod_cpu: InOut[Int32[ndarray, "sums"]],
    decoder_seq_lod_cpu: InOut[Int32[ndarray, "sums"]],
    encoder_kv_lod_cpu: InOut[Int32[ndarray, "sums"]],
    prefix_len_cpu: InOut[Int32[ndarray, "slots"]],
    decoder_context_len_cpu: InOut[Int32[ndarray, "slots"]],
    decoder_context_len_cache_cpu: InOut[Int32[ndarray, "slots"]],
    len_info_cpu: InOut[Int32[ndarray, "7"]],
    *,
    block_size: int,
    num_speculative_tokens: int,
    encoder_splice: bool = False,
    decoder_splice: bool = False,
    slot_mapping_enc: Out[Int32[ndarray, "prompt_tokens"]],
    slot_mapping_dec: Out[Int32[ndarray, "bsz*(1+num_speculative_tokens)"]],
) -> None:
    """List the prompt chunks (`seq_lens_encoder` > 0) and the decode slots (others with tokens), each in slot order.

    Entry k is that of the k-th slot of its class. `*_batch_map`: its number; `*_batch_idx`: its rank among the slots of
    both classes; `prefix_len`, `decoder_context_len_cache`: its cached tokens; `decoder_context_len`: those and its new
    ones; 0 behind the last slot of the class, up to bsz. Sums, element 0 included, up to bsz + 1: `encoder_seq_lod` of
    the chunks' tokens, `encoder_kv_lod` of those and the cached ones, both 0 behind the last; `decoder_seq_lod` of the
    decode slots' tokens, its last sum repeated. Each has a copy `*_cpu`. Longer buffers keep their rest.

    `len_info_cpu`: the slots of each class, the prompt tokens, the longest chunk, the longest chunk with its cached
    tokens, P, the most tokens of a decode slot. With p blocks of `block_size` for that longest chunk, the first p
    entries for each chunk, chunk after chunk, of `prefix_block_tables` seen as one row hold the blocks of its cached
    and new tokens from `block_tables`, then -1, and P is p. Where no chunk has cached tokens they are all -1, and P is
    -1. The rest keeps its values.

    `slot_mapping_enc`, `slot_mapping_dec`: with `encoder_splice`, `decoder_splice`, the place in the cache of each
    token of the class, slot after slot: its block times `block_size` and its place in the block. All else is -1.

    Raises ValueError for negative lengths, ghosts, a chunk whose two lengths differ, a `block_size` below 1, negative
    `num_speculative_tokens`, buffers too short, a chunk that its row of `block_tables` does not hold, sums past int32
    and, where a token's place is asked for, one without a block or past int32. Lengths are in tokens. Source: the
    newest form of the XPU op (I1), its switches parameters.
    """
    enc, dec, this, bsz = seq_lens_encoder, seq_lens_decoder, seq_lens_this_time, len(seq_lens_this_time)
    if block_size < 1:
        raise ValueError(f"block_size: {block_size}, expected at least 1")
    if num_speculative_tokens < 0:
        raise ValueError(f"num_speculative_tokens: {num_speculative_tokens}, expected at least 0")
    require_lengths(seq_lens_encoder=enc, seq_lens_decoder=dec, seq_lens_this_time=this)
    require_no_ghost(this, enc, dec)
    require((enc == 0) | (enc == this), "seq_lens_encoder", enc, "0, or the slot's seq_lens_this_time")
    require_capacity("block_tables", len(block_tables), bsz, "rows: one a slot")
    require_capacity("encoder_batch_map", len(encoder_batch_map), bsz, "entries: one a slot")
    require_capacity("encoder_seq_lod", len(encoder_seq_lod), bsz + 1, "entries: one a slot, and 1")
    prompts, decodes = np.flatnonzero(enc > 0), np.flatnonzero((enc == 0) & (this > 0))
    ranks = prefix_sum((enc > 0) | (this > 0))[:-1]
    ends = dec.astype(np.int64) + this
    chunk_sums, key_sums = prefix_sum(enc[prompts]), prefix_sum(ends[prompts])
    decode_sums = prefix_sum(this[decodes])
    require(ends < 2**31, "seq_lens_decoder", dec, "below 2^31 with the slot's seq_lens_this_time")
    for argument, sums in (("encoder_kv_lod", key_sums), ("decoder_seq_lod", decode_sums)):
        require(sums < 2**31, argument, sums, "below 2^31")
    capacity = block_tables.shape[1] * block_size
    require(ends[prompts] <= capacity, "seq_lens_decoder", dec[prompts], f"with the chunk at most {capacity} tokens")
    blocks = -(-ends[prompts] // block_size)
    stride = int(blocks.max(initial=0))
    need = len(prompts) * stride
    require_capacity("prefix_block_tables", prefix_block_tables.size, need, "entries: the chunks' blocks")
    require_capacity("slot_mapping_enc", len(slot_mapping_enc), chunk_sums[-1], "entries: the chunks' tokens")
    places_enc = _places(prompts, dec, this, block_tables, block_size) if encoder_splice else np.zeros(0, np.int64)
    places_dec = _places(decodes, dec, this, block_tables, block_size) if decoder_splice else np.zeros(0, np.int64)
    require_capacity("slot_mapping_dec", len(slot_mapping_dec), len(places_dec), "entries: the decode slots' tokens")

    cached = bool(np.any(dec[prompts]))
    for target, values, rest in (
        ((encoder_batch_map, encoder_batch_map_cpu), prompts, 0),
        ((decoder_batch_map, decoder_batch_map_cpu), decodes, 0),
        ((encoder_batch_idx, encoder_batch_idx_cpu), ranks[prompts], 0),
        ((decoder_batch_idx, decoder_batch_idx_cpu), ranks[decodes], 0),
        ((prefix_len, prefix_len_cpu), dec[prompts], 0),
        ((decoder_context_len, decoder_context_len_cpu), ends[decodes], 0),
        ((decoder_context_len_cache, decoder_context_len_cache_cpu), dec[decodes], 0),
    ):
        for array in target:
            array[:bsz] = rest
            array[: len(values)] = values
    for target, values, rest in (
        ((encoder_seq_lod, encoder_seq_lod_cpu), chunk_sums, 0),
        ((decoder_seq_lod, decoder_seq_lod_cpu), decode_sums, decode_sums[-1]),
        ((encoder_kv_lod, encoder_kv_lod_cpu), key_sums, 0),
    ):
        for array in target:
            array[: bsz + 1] = rest
            array[: len(values)] = values
    len_info_cpu[:] = (
        len(prompts),
        len(decodes),
        chunk_sums[-1],
        enc.max(initial=0),
        ends[prompts].max(initial=0),
        stride if cached else -1,
        this[decodes].max(initial=0),
    )
    tables = np.full((len(prompts), stride), -1, np.int32)
    if cached:
        for row, slot, count in zip(tables, prompts, blocks, strict=True):
            row[:count] = block_tables[slot, :count]
    prefix_block_tables.reshape(-1)[:need] = tables.reshape(-1)
    for mapping, places in ((slot_mapping_enc, places_enc), (slot_mapping_dec, places_dec)):
        mapping[:] = -1
        mapping[: len(places)] = places


def _places(slots: ndarray, dec: ndarray, this: ndarray, block_tables: ndarray, block_size: int) -> ndarray:
    """The place in the cache of each token of `slots`, int64. Raises ValueError where there is none."""
    places = [np.zeros(0, np.int64)]
    for slot in slots:
        positions = int(dec[slot]) + np.arange(this[slot], dtype=np.int64)
        column, inside = positions // block_size, positions % block_size
        if column[-1] >= block_tables.shape[1]:
            held = block_tables.shape[1] * block_size
            raise ValueError(f"seq_lens_decoder[{slot}] is {dec[slot]}, expected with its tokens at most {held}")
        block = block_tables[slot, column].astype(np.int64)
        most = (2**31 - 1 - inside) // block_size
        wrong = np.flatnonzero((block < 0) | (block > most))
        if wrong.size:
            first = wrong[0]
            raise ValueError(
                f"block_tables[{slot}, {column[first]}] is {block[first]}, expected a block from 0 to {most[first]}"
            )
        places.append(block * block_size + inside)
    return np.concatenate(places)
