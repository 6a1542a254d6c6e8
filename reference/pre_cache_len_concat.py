"""Key lengths, and the tiles of cached keys, of the slots that run tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require, require_capacity, require_lengths
from opgold.reference.schema import In, Out


def sizes(seq_lens_decoder: ndarray, max_dec_len: int, block_size: int) -> dict[str, int]:
    """`tiles`: as many as `max_dec_len` cached tokens in every slot would have."""
    return {"tiles": len(seq_lens_decoder) * max(0, -(-max_dec_len // max(1, block_size)))}


def pre_cache_len_concat(
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    *,
    max_dec_len: int,
    block_size: int,
    cu_seqlens_k: Out[Int32[ndarray, "bsz+1"]],
    batch_ids: Out[Int32[ndarray, "tiles"]],
    tile_ids: Out[Int32[ndarray, "tiles"]],
    num_blocks: Out[Int32[ndarray, "1"]],
    kv_token_num: Out[Int32[ndarray, "1"]],
) -> None:
    """List the tiles of `block_size` cached tokens of every slot that runs tokens, slot after slot.

    A slot's last tile may be partial. Entry t of `batch_ids` and `tile_ids` is a tile's slot and its index there;
    behind the `num_blocks` tiles both are -1. `cu_seqlens_k` is the prefix sum of cached and new tokens of the slots
    that run tokens, `kv_token_num` its last element. Cached tokens (`seq_lens_decoder`) of a slot without new ones
    count as none.

    Raises ValueError for negative lengths, a `block_size` below 1, more cached tokens than `max_dec_len` in a slot that
    runs tokens, more tiles than entries, and key lengths that sum to 2^31 or more. Source: the GPU op, its counts
    int32 on the device.
    """
    if block_size < 1:
        raise ValueError(f"block_size: {block_size}, expected at least 1")
    require_lengths(seq_lens_decoder=seq_lens_decoder, seq_lens_this_time=seq_lens_this_time)
    cached = np.where(seq_lens_this_time > 0, seq_lens_decoder, 0).astype(np.int64)
    require(cached <= max_dec_len, "seq_lens_decoder", seq_lens_decoder, f"at most max_dec_len, {max_dec_len}")
    keys = prefix_sum(cached + seq_lens_this_time)
    if keys[-1] >= 2**31:
        raise ValueError(f"seq_lens_decoder: key lengths sum to {keys[-1]}, expected below 2^31")
    tiles = -(-cached // block_size)
    starts = prefix_sum(tiles)
    require_capacity("batch_ids", len(batch_ids), starts[-1], "entries: the tiles of all slots")

    cu_seqlens_k[:] = keys
    batch_ids[:] = -1
    tile_ids[:] = -1
    for b, count in enumerate(tiles):
        batch_ids[starts[b] : starts[b + 1]] = b
        tile_ids[starts[b] : starts[b + 1]] = np.arange(count)
    num_blocks[0] = starts[-1]
    kv_token_num[0] = keys[-1]
