"""Logits of the draft model's rows, with those of a prompt's first token before a prompt chunk's."""

from __future__ import annotations

from jaxtyping import Float32, Int32
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require_capacity, require_slots
from opgold.reference._logits import next_rows
from opgold.reference.schema import In, InOut


def speculate_get_logits(
    draft_logits: InOut[Float32[ndarray, "draft_rows vocab"]],
    next_token_num: InOut[Int32[ndarray, "max_bsz"]],
    batch_token_num: InOut[Int32[ndarray, "max_bsz"]],
    cu_next_token_offset: InOut[Int32[ndarray, "max_bsz+1"]],
    cu_batch_token_offset: InOut[Int32[ndarray, "max_bsz+1"]],
    logits: In[Float32[ndarray, "rows vocab"]],
    first_token_logits: In[Float32[ndarray, "first_rows vocab"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "max_bsz"]],
) -> None:
    """Copy the packed rows of `logits`, slot after slot, and put row b of `first_token_logits` before a prompt's row.

    A prompt chunk (encoder length) has 1 row of `logits` and gives 2, any other slot has and gives one a token: these
    are `next_token_num` and `batch_token_num`; the two offsets are their prefix sums, element 0 included. Rows behind
    the last, and counts and offsets of slots from `bsz` on, keep their values.

    Raises ValueError for negative lengths, held prefills, and fewer rows anywhere than these. Source: the GPU op, which
    writes element 0 of neither offset and runs past its rows where the vocabulary is no multiple of 4.
    """
    bsz = len(seq_lens_this_time)
    given = next_rows(seq_lens_this_time, seq_lens_encoder)
    prompts = seq_lens_encoder[:bsz] > 0
    sources, starts = prefix_sum(given), prefix_sum(given + prompts)
    require_capacity("logits", len(logits), sources[bsz], "rows: the rows of all slots")
    require_capacity("draft_logits", len(draft_logits), starts[bsz], "rows: those of all slots, two for a prompt chunk")
    require_slots(bsz, first_token_logits=first_token_logits)

    next_token_num[:bsz], batch_token_num[:bsz] = given, given + prompts
    cu_next_token_offset[: bsz + 1], cu_batch_token_offset[: bsz + 1] = sources, starts
    for b in range(bsz):
        rows = draft_logits[starts[b] : starts[b + 1]]
        if prompts[b]:
            rows[0] = first_token_logits[b]
        rows[int(prompts[b]) :] = logits[sources[b] : sources[b + 1]]
