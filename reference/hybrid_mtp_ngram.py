"""More drafts, from a slot's own text, behind those that a draft model has made."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_lengths
from opgold.reference._ngram import found_drafts, granted
from opgold.reference._output_rows import require_layout, require_slots
from opgold.reference.schema import In, InOut


def hybrid_mtp_ngram(
    input_ids: In[Int64[ndarray, "slots max_prompt"]],
    input_ids_len: In[Int64[ndarray, "slots"]],
    pre_ids: In[Int64[ndarray, "slots max_history"]],
    step_idx: In[Int64[ndarray, "slots"]],
    draft_token_num: In[Int32[ndarray, "slots"]],
    draft_tokens: InOut[Int64[ndarray, "slots max_draft"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "slots"]],
    max_dec_len: In[Int64[ndarray, "slots"]],
    *,
    max_ngram_size: int,
    min_ngram_size: int,
    max_draft_tokens: int,
    threshold: int = 1024,
    history_layout: int = 1,
) -> None:
    """Add the drafts a slot finds behind its o = `seq_lens_this_time` tokens, from column o of its draft row on.

    A slot without tokens is skipped; the others want m = min(`max_draft_tokens - o + 1`, `max_dec_len - step_idx - 1`)
    drafts. With k = `step_idx`, g from `max_ngram_size` (at most k) down to `min_ngram_size`: the last g tokens of
    `pre_ids` are looked for in the `input_ids_len` tokens of `input_ids`, then in entries 0 to k - 1 of `pre_ids`; the
    tokens behind the leftmost occurrence, at most m and inside that text, are the drafts, and the first occurrence that
    has any ends the search. History layout 1: the last token is entry k, entry 0 is unused but searched; layout 0:
    entry k - 1.

    All tokens together keep to `threshold` as far as drafts go: a slot's budget is that less the wishes (tokens and
    drafts found) of the slots before and one for each slot with tokens behind; drafts past it are dropped. Columns
    behind keep their content; `draft_token_num` and `seq_lens_decoder` are not used. Lengths are in tokens.

    Raises ValueError for a negative length, a `min_ngram_size` below 1 and, in slots that want drafts, prompt or
    history outside their rows and `max_draft_tokens` above the columns of `draft_tokens` less one. Source: the
    parallel-gather form of the op.
    """
    bsz, (slots, columns), k = len(seq_lens_this_time), draft_tokens.shape, step_idx
    require_layout(history_layout)
    require_slots(slots, bsz, "input_ids_len")
    if min_ngram_size < 1:
        raise ValueError(f"min_ngram_size: {min_ngram_size}, expected at least 1")
    require_lengths(seq_lens_this_time=seq_lens_this_time)
    bases = seq_lens_this_time.tolist()
    most = [min(max_draft_tokens - o + 1, int(max_dec_len[b]) - int(k[b]) - 1) if o else 0 for b, o in enumerate(bases)]
    live = np.zeros(slots, bool)
    live[:bsz] = np.array(most, object) > 0
    if live.any() and max_draft_tokens >= columns:
        raise ValueError(f"max_draft_tokens: {max_draft_tokens}, expected below {columns}, the columns of draft_tokens")
    width, longest = input_ids.shape[1], pre_ids.shape[1] - history_layout
    prompt_fits = (input_ids_len >= 0) & (input_ids_len <= width)
    require(~live | prompt_fits, "input_ids_len", input_ids_len, f"0 to {width}, the columns of input_ids")
    require(~live | ((k >= 0) & (k <= longest)), "step_idx", k, f"0 to {longest}, by the columns of pre_ids")

    found = [pre_ids[b, :0] for b in range(bsz)]
    for b in np.flatnonzero(live):
        pattern = pre_ids[b, history_layout : history_layout + k[b]]
        haystacks = input_ids[b, : input_ids_len[b]], pre_ids[b, : k[b]]
        found[b] = found_drafts(haystacks, pattern, most[b], max_ngram_size, min_ngram_size)
    keeps = granted(bases, [len(drafts) for drafts in found], [True] * bsz, threshold)
    for slot, keep in enumerate(keeps):
        draft_tokens[slot, bases[slot] : bases[slot] + keep] = found[slot][:keep]
        seq_lens_this_time[slot] += keep
