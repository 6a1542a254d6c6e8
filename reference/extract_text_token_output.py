"""The score row of each slot's last text token, in a batch where one slot also runs image tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Int32
from numpy import ndarray

from opgold.reference._contract import require, require_capacity, require_lengths, require_prefix_sum
from opgold.reference.schema import In, Out


def extract_text_token_output(
    max_seq_len: In[Int32[ndarray, "1"]],
    max_seq_len_index: In[Int32[ndarray, "1"]],
    mm_token_num_len: In[Int32[ndarray, "1"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    cu_seqlens_q: In[Int32[ndarray, "bsz+1"]],
    score_text: In[Float32[ndarray, "tokens vocab"]],
    *,
    output: Out[Float32[ndarray, "bsz vocab"]],
) -> None:
    """Row b of `output` is the row of slot b's last text token; ones for a slot without tokens.

    `score_text` holds a row for every token, slot after slot, but for the `mm_token_num_len` image tokens of slot
    `max_seq_len_index`, the one with the most tokens. If all its `max_seq_len` tokens are image tokens its row is zero,
    also where it has none at all.

    Raises ValueError for negative lengths, a `cu_seqlens_q` that is not their prefix sum, an index that is no slot's, a
    `max_seq_len` that is not that slot's length, image tokens outside 0 to `max_seq_len`, and too few score rows. With
    no slots the three numbers are not looked at. Source: the GPU op, for any number of slots.
    """
    this, bsz = seq_lens_this_time, len(seq_lens_this_time)
    require_lengths(seq_lens_this_time=this)
    require_prefix_sum("cu_seqlens_q", cu_seqlens_q, this, "seq_lens_this_time")
    if bsz == 0:
        return
    mixed, images = max_seq_len_index[0], mm_token_num_len[0]
    require((max_seq_len_index >= 0) & (max_seq_len_index < bsz), "max_seq_len_index", max_seq_len_index, "a slot")
    require(max_seq_len == this[mixed], "max_seq_len", max_seq_len, f"{this[mixed]}, the tokens of slot {mixed}")
    at_most = f"0 to {this[mixed]}, the tokens of slot {mixed}"
    require((mm_token_num_len >= 0) & (images <= this[mixed]), "mm_token_num_len", mm_token_num_len, at_most)
    text = int(cu_seqlens_q[bsz]) - int(images)
    require_capacity("score_text", len(score_text), text, "rows: the text tokens of all slots")

    output[:] = 1
    for b in np.flatnonzero(this):
        if b != mixed or images < this[b]:
            output[b] = score_text[cu_seqlens_q[b + 1] - 1 - (images if b >= mixed else 0)]
    if images == this[mixed]:
        output[mixed] = 0
