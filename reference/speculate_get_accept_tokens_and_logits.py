"""The target model's accepted tokens and their logits, packed."""

from __future__ import annotations

from jaxtyping import Float32, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_capacity, require_slots, require_sums
from opgold.reference._logits import next_rows, require_accepted
from opgold.reference.schema import In, InOut


def speculate_get_accept_tokens_and_logits(
    token_ids: InOut[Int64[ndarray, "token_rows"]],
    target_logits: InOut[Float32[ndarray, "target_rows vocab"]],
    logits: In[Float32[ndarray, "rows vocab"]],
    cu_batch_token_offset: In[Int32[ndarray, "batch_offsets"]],
    cu_seqlens_q_output: In[Int32[ndarray, "output_offsets"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "max_bsz"]],
    accept_num: In[Int32[ndarray, "max_bsz"]],
    accept_tokens: In[Int64[ndarray, "max_bsz max_accept"]],
) -> None:
    """Pack the first `accept_num[b]` tokens of row b of `accept_tokens`, and the first as many of slot b's logits rows.

    Slot b's logits lie from row `cu_seqlens_q_output[b]` on, one row for a prompt chunk (encoder length), else one for
    each of `seq_lens_this_time`. Tokens and rows go to entry `cu_batch_token_offset[b]` and on. Both are prefix sums,
    element 0 included. A prompt chunk counts by its `accept_num`, too: 1, or 0 where the prompt goes on. What lies
    behind the last token keeps its value; offsets of slots from `bsz` on are not looked at.

    Raises ValueError for negative lengths, held prefills, more tokens accepted than a slot has rows or columns, offsets
    that are not these sums, and too few rows anywhere. Source: the op's test; upstream callers give a prompt chunk 1.
    """
    bsz, columns = len(seq_lens_this_time), accept_tokens.shape[1]
    held = next_rows(seq_lens_this_time, seq_lens_encoder)
    require_slots(bsz, accept_num=accept_num)
    accepted = accept_num[:bsz]
    require_accepted(accepted, held)
    require(accepted <= columns, "accept_num", accepted, f"at most the {columns} columns of accept_tokens")
    require_sums("cu_seqlens_q_output", cu_seqlens_q_output, held, "each slot's rows of logits")
    require_sums("cu_batch_token_offset", cu_batch_token_offset, accepted, "accept_num")
    starts, sources = cu_batch_token_offset, cu_seqlens_q_output
    require_capacity("logits", len(logits), sources[bsz], "rows: the rows of all slots")
    require_capacity("token_ids", len(token_ids), starts[bsz], "tokens: the accepted ones of all slots")
    require_capacity("target_logits", len(target_logits), starts[bsz], "rows: the accepted tokens of all slots")

    for b, count in enumerate(accepted):
        token_ids[starts[b] : starts[b + 1]] = accept_tokens[b, :count]
        target_logits[starts[b] : starts[b + 1]] = logits[sources[b] : sources[b] + count]
