"""What the two forms of update_attn_mask_offsets demand of their inputs."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opgold.reference._contract import (
    require,
    require_capacity,
    require_lengths,
    require_no_ghost,
    require_prefix_sum,
)

INT32 = np.iinfo(np.int32)
WITHIN_INT32 = "a mask end within int32 with the slot's tokens"


def require_mask_inputs(
    *,
    ids_remove_padding: ndarray,
    seq_lens_this_time: ndarray,
    seq_lens_encoder: ndarray,
    seq_lens_decoder: ndarray,
    cu_seqlens_q: ndarray,
    attn_mask_offsets_full: ndarray,
    is_block_step: ndarray,
    decode_states: ndarray,
) -> None:
    """Lengths, capacities and prompt chunks are sound. Of a blocked slot only its tokens are looked at."""
    tokens, width = len(ids_remove_padding), attn_mask_offsets_full.shape[1]
    live = ~is_block_step
    this, enc, dec = (
        np.where(live, lengths, 0) for lengths in (seq_lens_this_time, seq_lens_encoder, seq_lens_decoder)
    )
    require_lengths(seq_lens_this_time=seq_lens_this_time, seq_lens_encoder=enc, seq_lens_decoder=dec)
    require_prefix_sum("cu_seqlens_q", cu_seqlens_q, seq_lens_this_time, "seq_lens_this_time")
    require_capacity("ids_remove_padding", tokens, cu_seqlens_q[-1], "tokens: the sum of seq_lens_this_time")
    require_capacity("decode_states", decode_states.shape[1], 1, "columns: column 0 is the slot's mode")
    require_no_ghost(this, enc, dec)
    held = (enc > 0) & (this == 0)
    require(~held, "seq_lens_this_time", this, "tokens: the slot has an encoder length (a held prefill)")

    vision = (enc > 0) & (dec > 0) & (decode_states[:, 0] == 2)
    require(~vision | (dec <= INT32.max - this), "seq_lens_decoder", dec, WITHIN_INT32)
    text = (enc > 0) & ~vision
    columns = f"at most the {width} columns of attn_mask_offsets_full"
    require(~text | (this <= width), "seq_lens_this_time", this, columns)
    used = text[:, None] & (np.arange(width) < this[:, None])
    full = attn_mask_offsets_full
    require(~used | (full < INT32.max), "attn_mask_offsets_full", full, f"at most {INT32.max - 1}: 1 is added")
