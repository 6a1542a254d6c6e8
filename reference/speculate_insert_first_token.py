"""Tokens of the draft model's rows, with a prompt's first token before a prompt chunk's."""

from __future__ import annotations

from jaxtyping import Int32, Int64
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require_capacity, require_slots, require_sums
from opgold.reference._logits import next_rows
from opgold.reference.schema import In, InOut


def speculate_insert_first_token(
    token_ids: InOut[Int64[ndarray, "draft_rows"]],
    accept_tokens: In[Int64[ndarray, "max_bsz max_accept"]],
    next_tokens: In[Int64[ndarray, "rows"]],
    cu_next_token_offset: In[Int32[ndarray, "next_offsets"]],
    cu_batch_token_offset: In[Int32[ndarray, "batch_offsets"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "max_bsz"]],
) -> None:
    """Copy the packed `next_tokens`, slot after slot, and put `accept_tokens[b, 0]` before a prompt chunk's.

    A prompt chunk (encoder length) has 1 token of `next_tokens` and gives 2, any other slot has and gives
    `seq_lens_this_time`; the offsets are the prefix sums of these two, element 0 included, as `speculate_get_logits`
    makes them. Tokens behind the last keep their values; offsets of slots from `bsz` on are not looked at.

    Raises ValueError for negative lengths, held prefills, offsets that are not these sums, and too few tokens, columns
    or rows anywhere. Source: the GPU op.
    """
    bsz = len(seq_lens_this_time)
    given = next_rows(seq_lens_this_time, seq_lens_encoder)
    prompts = seq_lens_encoder[:bsz] > 0
    sources, starts = prefix_sum(given), prefix_sum(given + prompts)
    require_sums("cu_next_token_offset", cu_next_token_offset, given, "each slot's tokens of next_tokens")
    require_sums("cu_batch_token_offset", cu_batch_token_offset, given + prompts, "each slot's tokens, 2 for a prompt")
    require_capacity("next_tokens", len(next_tokens), sources[bsz], "tokens: those of all slots")
    require_capacity("token_ids", len(token_ids), starts[bsz], "tokens: those of all slots, 2 for a prompt chunk")
    require_slots(bsz, accept_tokens=accept_tokens)
    if prompts.any():
        require_capacity("accept_tokens", accept_tokens.shape[1], 1, "columns: one for a prompt's first token")

    for b in range(bsz):
        tokens = token_ids[starts[b] : starts[b + 1]]
        if prompts[b]:
            tokens[0] = accept_tokens[b, 0]
        tokens[int(prompts[b]) :] = next_tokens[sources[b] : sources[b + 1]]
