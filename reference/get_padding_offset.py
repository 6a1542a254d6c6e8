"""Packing of a padded batch into one row of tokens, for ordinary and for draft-verifying steps."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require_capacity, require_lengths, require_tokens_fit
from opgold.reference.schema import In, Out


def get_padding_offset(
    input_ids: In[Int64[ndarray, "bsz max_len"]],
    seq_len: In[Int32[ndarray, "bsz"]],
    draft_tokens: In[Int64[ndarray, "bsz max_draft"]] | None = None,
    seq_lens_encoder: In[Int32[ndarray, "bsz"]] | None = None,
    seq_lens_decoder: In[Int32[ndarray, "bsz"]] | None = None,
    *,
    cpu_token_num: int,
    x_remove_padding: Out[Int64[ndarray, "cpu_token_num"]],
    batch_id_per_token: Out[Int32[ndarray, "cpu_token_num"]],
    cu_seqlens_q: Out[Int32[ndarray, "bsz+1"]],
    cu_seqlens_k: Out[Int32[ndarray, "bsz+1"]],
) -> None:
    """Pack the first `seq_len[b]` tokens of every slot, slot after slot. Lengths are in tokens.

    A slot's tokens come from its row of `draft_tokens` where drafts are given and the slot has no encoder length,
    else from its row of `input_ids`; drafts of width 0 count as not given, and without drafts `seq_lens_encoder` is not
    looked at. `batch_id_per_token` names each token's slot. Behind the last token the ids are 2 and the batch ids -1.
    `cu_seqlens_q` is the prefix sum of `seq_len`, `cu_seqlens_k` that of `seq_len + seq_lens_decoder` (stopped slots
    count) or, without decoder lengths, the same. A ghost slot packs like any other, a held prefill packs nothing.

    Raises ValueError for a negative length, a slot longer than its row, `cpu_token_num` below the sum of `seq_len`,
    drafts without `seq_lens_encoder`, and a `cu_seqlens_k` past int32. Source: the newest GPU form (G3) of the op.
    """
    drafts, encoder = input_ids, np.ones_like(seq_len)
    if draft_tokens is not None and draft_tokens.shape[1] > 0:
        if seq_lens_encoder is None:
            raise ValueError("seq_lens_encoder: is not given, expected together with draft_tokens")
        drafts, encoder = draft_tokens, seq_lens_encoder
    cached = np.zeros_like(seq_len) if seq_lens_decoder is None else seq_lens_decoder
    require_lengths(seq_len=seq_len, seq_lens_encoder=encoder, seq_lens_decoder=cached)
    from_draft = encoder == 0
    require_tokens_fit("seq_len", seq_len, from_draft, drafts, input_ids)
    starts = prefix_sum(seq_len)
    require_capacity("cpu_token_num", cpu_token_num, starts[-1], "the sum of seq_len")
    keys = starts + prefix_sum(cached)
    if keys[-1] >= 2**31:
        raise ValueError(f"seq_lens_decoder: its sum with seq_len is {keys[-1]}, expected below 2^31")

    cu_seqlens_q[:] = starts
    cu_seqlens_k[:] = keys
    x_remove_padding[:] = 2
    batch_id_per_token[:] = -1
    for b, length in enumerate(seq_len):
        row = drafts[b] if from_draft[b] else input_ids[b]
        x_remove_padding[starts[b] : starts[b + 1]] = row[:length]
        batch_id_per_token[starts[b] : starts[b + 1]] = b
