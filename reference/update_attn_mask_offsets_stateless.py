"""Which keys each packed token may attend to, computed anew from the cached lengths."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._attn_mask import INT32, WITHIN_INT32, require_mask_inputs
from opgold.reference._contract import require
from opgold.reference.schema import In, InOut, Out


def update_attn_mask_offsets_stateless(
    ids_remove_padding: In[Int64[ndarray, "tokens"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    cu_seqlens_q: In[Int32[ndarray, "bsz+1"]],
    attn_mask_offsets_full: In[Int32[ndarray, "bsz max_len"]],
    is_block_step: In[Bool[ndarray, "bsz"]],
    decode_states: InOut[Int32[ndarray, "bsz max_draft"]],
    *,
    attn_mask_offsets: Out[Int32[ndarray, "2*tokens"]],
) -> None:
    """Give token t the keys from `attn_mask_offsets[2*t]`, always 0, to before `attn_mask_offsets[2*t+1]`.

    A prompt chunk (`seq_lens_encoder` > 0) takes its ends from its row of `attn_mask_offsets_full`, one added; while
    it generates an image (`decode_states[b, 0]` is 2, and there are cached tokens) all its tokens end at cached and
    new tokens together. Token i of a decode slot ends at `seq_lens_decoder[b] + 1 + i`, and `decode_states[b, i]`
    becomes 0 where i is one of the slot's tokens and the state was not 1, else -1; with no tokens the whole row
    becomes -1. Blocked and idle slots, and tokens behind the last slot, get (0, 0) and change no state. Lengths are in
    tokens; of `ids_remove_padding` only the length is used, of an encoder length only its sign.

    Raises ValueError for negative lengths, ghosts and held prefills, all save in blocked slots; for `cu_seqlens_q`
    that is not the prefix sum of `seq_lens_this_time`, too few tokens, a chunk longer than its row, `decode_states`
    without a column, and ends beyond int32. Source: the newest GPU form, which upstream calls update_attn_mask_offsets
    too, https://github.com/PaddlePaddle/FastDeploy/pull/7005.
    """
    require_mask_inputs(
        ids_remove_padding=ids_remove_padding,
        seq_lens_this_time=seq_lens_this_time,
        seq_lens_encoder=seq_lens_encoder,
        seq_lens_decoder=seq_lens_decoder,
        cu_seqlens_q=cu_seqlens_q,
        attn_mask_offsets_full=attn_mask_offsets_full,
        is_block_step=is_block_step,
        decode_states=decode_states,
    )
    live = ~is_block_step & ((seq_lens_encoder > 0) | (seq_lens_decoder > 0))
    require(
        ~live | (seq_lens_encoder > 0) | (seq_lens_decoder <= INT32.max - seq_lens_this_time),
        "seq_lens_decoder",
        seq_lens_decoder,
        WITHIN_INT32,
    )

    attn_mask_offsets[:] = 0
    ends = attn_mask_offsets[1::2]
    for b in np.flatnonzero(live):
        this, dec = seq_lens_this_time[b], seq_lens_decoder[b]
        tokens = slice(cu_seqlens_q[b], cu_seqlens_q[b + 1])
        if seq_lens_encoder[b] > 0 and decode_states[b, 0] == 2 and dec > 0:
            ends[tokens] = dec + this
        elif seq_lens_encoder[b] > 0:
            ends[tokens] = attn_mask_offsets_full[b, :this] + 1
        else:
            ends[tokens] = dec + np.arange(1, this + 1)
            running = np.arange(decode_states.shape[1]) < this
            decode_states[b] = np.where(running & (decode_states[b] != 1), 0, -1)
