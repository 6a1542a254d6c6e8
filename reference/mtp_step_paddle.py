"""The draft model's cache blocks: those of stopped slots come back, and slots that need one get their next."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32
from numpy import ndarray

from opgold.reference._blocks import own_blocks, require_attributes, require_conserved
from opgold.reference._contract import require, require_lengths
from opgold.reference.schema import In, InOut, Out


def mtp_step_paddle(
    base_model_stop_flags: In[Bool[ndarray, "bsz"]],
    stop_flags: InOut[Bool[ndarray, "bsz"]],
    batch_drop: InOut[Bool[ndarray, "bsz"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "bsz"]],
    block_tables: InOut[Int32[ndarray, "bsz blocks_per_slot"]],
    encoder_block_lens: InOut[Int32[ndarray, "bsz"]],
    used_list_len: InOut[Int32[ndarray, "bsz"]],
    free_list: InOut[Int32[ndarray, "blocks"]],
    free_list_len: InOut[Int32[ndarray, "1"]],
    *,
    block_size: int,
    max_draft_tokens: int,
    status: Out[Int32[ndarray, "1"]],
) -> None:
    """Free the blocks of stopped slots, drop slots until the free blocks suffice, then hand them out.

    A slot's own blocks are `block_tables[b, e : e + used]`: e is `encoder_block_lens[b]`, used is `used_list_len[b]`.
    Where `base_model_stop_flags` or `batch_drop` is set they are pushed on `free_list`, a stack of `free_list_len`
    ids, their cells become -1, e and used 0. Any other slot needs a block if its cell for `seq_lens_decoder +
    max_draft_tokens + 1` tokens exists and is -1. While needs exceed free blocks the slot with most own blocks (the
    lowest of equals) is dropped: its blocks are pushed, it needs none; `stop_flags` and `batch_drop` are set,
    `seq_lens_this_time`, `seq_lens_decoder` and used 0. If no slot with own blocks is left, `status` is 0 and nothing
    else is written. Else `status` is 1, and each slot that needs a block takes the top one. Pushes and pops go by
    slot, then column, drops in their turn; a popped cell of `free_list` keeps its id. `seq_lens_encoder` is not
    looked at.

    Raises ValueError for lengths or blocks outside their rows, a cell that is needed but is not the next one, an own or
    free id that is negative or stands twice, a `free_list` too small for all, and attributes or lengths outside int32.
    Source: the GPU op; it drops more slots than needed, and never ends where these do not suffice.
    """
    slots, ended = np.arange(len(used_list_len)), base_model_stop_flags | batch_drop
    used, first = used_list_len.copy(), encoder_block_lens.astype(np.int64)
    require_attributes(block_size, max_draft_tokens)
    own = own_blocks(block_tables, encoder_block_lens, used)
    require_conserved(free_list, free_list_len, own)
    live = np.where(ended, 0, seq_lens_decoder)
    require_lengths(seq_lens_decoder=live)
    column = (live.astype(np.int64) + max_draft_tokens + 1) // block_size
    inside = ~ended & (column < block_tables.shape[1])
    needs = inside.copy()
    needs[inside] = block_tables[slots[inside], column[inside]] == -1
    require(~needs | (column == first + used), "used_list_len", used_list_len, "blocks up to the one that is needed")

    dropped: list[int] = []
    free = int(free_list_len[0]) + int(used[ended].sum())
    left = np.where(ended, 0, used)
    while needs.sum() > free:
        victim = int(np.argmax(left))
        if left[victim] == 0:
            status[0] = 0
            return
        dropped.append(victim)
        free += left[victim]
        left[victim] = needs[victim] = 0

    status[0], top = 1, int(free_list_len[0])
    for b in [*slots[ended & (used > 0)], *dropped]:
        free_list[top : top + used[b]] = own[b]
        block_tables[b, first[b] : first[b] + used[b]] = -1
        top, used_list_len[b] = top + used[b], 0
        if ended[b]:
            encoder_block_lens[b] = 0
        else:
            stop_flags[b] = batch_drop[b] = True
            seq_lens_this_time[b] = seq_lens_decoder[b] = 0
    for b in slots[needs]:
        top -= 1
        block_tables[b, column[b]] = free_list[top]
        used_list_len[b] += 1
    free_list_len[0] = top
