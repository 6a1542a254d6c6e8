"""Drafts from a slot's own text: what followed the last time that its end occurred."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_lengths
from opgold.reference._ngram import found_drafts, granted
from opgold.reference._output_rows import generated, require_history, require_layout, require_slots
from opgold.reference.schema import In, InOut


def ngram_match(
    token_ids_all: In[Int64[ndarray, "slots max_model_len"]],
    prompt_lens: In[Int64[ndarray, "slots"]],
    step_idx: In[Int64[ndarray, "slots"]],
    draft_token_num: In[Int32[ndarray, "slots"]],
    draft_tokens: InOut[Int64[ndarray, "slots max_draft"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "slots"]],
    seq_lens_decoder: In[Int32[ndarray, "slots"]],
    max_dec_len: In[Int64[ndarray, "slots"]],
    *,
    max_ngram_size: int,
    max_draft_tokens: int,
    threshold: int = 128,
    history_layout: int = 0,
) -> None:
    """Give each decoding slot 1 token and the drafts it finds, from column 1 of its draft row on.

    A slot with an encoder length keeps its tokens and drafts; another without a decoder length gets 0 tokens. The rest
    want m = min(`draft_token_num`, `max_dec_len - step_idx - 1`) drafts. With k = `step_idx`, g from `max_ngram_size`
    (at most k) down to 1: the last g generated tokens are looked for in the prompt, then in generated entries 0 to
    k - 1; the tokens behind the leftmost occurrence, at most m and inside that text, are the drafts, and the first
    occurrence that has any ends the search. History layout 0: the last token is entry k - 1 behind the prompt;
    layout 1: entry k, entry 0 is unused but searched.

    All tokens together keep to `threshold`: a slot's budget is that less the wishes (tokens and drafts found) of the
    slots before and one for each slot with tokens behind; drafts past it are dropped. Columns behind keep their
    content, `max_draft_tokens` is not used. Lengths are in tokens.

    Raises ValueError for negative lengths, a prompt chunk without tokens and, in slots that want drafts, history
    outside its row and `draft_token_num` above the columns of `draft_tokens` less one. Source: the parallel-gather
    form, after the prompt moved into `token_ids_all`.
    """
    bsz, (slots, columns), k = len(seq_lens_this_time), draft_tokens.shape, step_idx
    require_layout(history_layout)
    require_slots(slots, bsz)
    enc, dec = seq_lens_encoder[:bsz], seq_lens_decoder[:bsz]
    require_lengths(seq_lens_encoder=enc, seq_lens_decoder=dec)
    prompt, decode = enc > 0, (enc == 0) & (dec > 0)
    require(~prompt | (seq_lens_this_time > 0), "seq_lens_this_time", seq_lens_this_time, "tokens of a prompt chunk")
    most = [min(int(draft_token_num[b]), int(max_dec_len[b]) - int(k[b]) - 1) if decode[b] else 0 for b in range(bsz)]
    live = np.zeros(slots, bool)
    live[:bsz] = np.array(most, np.int64) > 0
    require_history(live, prompt_lens, k, "step_idx", token_ids_all.shape[1], history_layout)
    fits = draft_token_num < columns
    require(~live | fits, "draft_token_num", draft_token_num, f"below {columns}, the columns of draft_tokens")

    found = [token_ids_all[b, :0] for b in range(bsz)]
    for b in np.flatnonzero(live):
        row, start = token_ids_all[b], int(prompt_lens[b])
        pattern = generated(row, start, int(k[b]), history_layout)
        found[b] = found_drafts((row[:start], row[start : start + k[b]]), pattern, most[b], max_ngram_size, 1)
    bases = np.where(prompt, seq_lens_this_time, decode).tolist()
    keeps = granted(bases, [len(drafts) for drafts in found], decode.tolist(), threshold)
    for slot, keep in enumerate(keeps):
        draft_tokens[slot, 1 : 1 + keep] = found[slot][:keep]
        seq_lens_this_time[slot] = bases[slot] + keep
