"""Packing of a step that verifies drafts, and the indices of the rows that it gives to sampling."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require_capacity, require_lengths, require_tokens_fit
from opgold.reference.schema import In, Out


def speculate_pre_process(
    input_ids: In[Int64[ndarray, "bsz max_len"]],
    seq_len: In[Int32[ndarray, "bsz"]],
    draft_tokens: In[Int64[ndarray, "bsz max_draft"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    *,
    cpu_token_num: int,
    ids_remove_padding: Out[Int64[ndarray, "cpu_token_num"]],
    batch_id_per_token: Out[Int32[ndarray, "cpu_token_num"]],
    cu_seqlens_q: Out[Int32[ndarray, "bsz+1"]],
    cu_seqlens_k: Out[Int32[ndarray, "bsz+1"]],
    cu_seqlens_q_output: Out[Int32[ndarray, "bsz+1"]],
    batch_id_per_token_output: Out[Int32[ndarray, "bsz*max_draft"]],
    real_output_token_num: Out[Int32[ndarray, "1"]],
) -> None:
    """Pack every slot's tokens, and number its output rows: one for a prompt chunk, else one a token.

    A slot without encoder length takes its `seq_len[b]` tokens from its row of `draft_tokens`, any other from its row
    of `input_ids`. `batch_id_per_token` and `batch_id_per_token_output` name the slot of each token and output row;
    prefix sums count tokens (`cu_seqlens_q`, and `cu_seqlens_k`, always the same) and output rows
    (`cu_seqlens_q_output`, whose last element is also `real_output_token_num`). Behind the last token the ids are 2,
    behind the last token and output row the batch ids -1. A ghost slot packs drafts and has one row a token, a held
    prefill has neither; zero tokens and zero slots follow the same formulas. `seq_lens_decoder` is not looked at.

    Raises ValueError for a negative `seq_len` or `seq_lens_encoder`, a slot longer than its row, `cpu_token_num` below
    the sum of `seq_len`, and more output rows than `bsz * max_draft` (so any at all where drafts have width 0).
    Source: the newest form of the fused op.
    """
    require_lengths(seq_len=seq_len, seq_lens_encoder=seq_lens_encoder)
    from_draft = seq_lens_encoder == 0
    require_tokens_fit("seq_len", seq_len, from_draft, draft_tokens, input_ids)
    starts = prefix_sum(seq_len)
    require_capacity("cpu_token_num", cpu_token_num, starts[-1], "the sum of seq_len")
    output_starts = prefix_sum(np.where(seq_lens_encoder > 0, np.minimum(seq_len, 1), seq_len))
    require_capacity("draft_tokens: cells", draft_tokens.size, output_starts[-1], "one an output row")

    cu_seqlens_q[:] = cu_seqlens_k[:] = starts
    cu_seqlens_q_output[:] = output_starts
    real_output_token_num[0] = output_starts[-1]
    ids_remove_padding[:] = 2
    batch_id_per_token[:] = batch_id_per_token_output[:] = -1
    for b, length in enumerate(seq_len):
        row = draft_tokens[b] if from_draft[b] else input_ids[b]
        ids_remove_padding[starts[b] : starts[b + 1]] = row[:length]
        batch_id_per_token[starts[b] : starts[b + 1]] = b
        batch_id_per_token_output[output_starts[b] : output_starts[b + 1]] = b
