"""Every slot's state after a step's tokens are known: stops, lengths, history, the next input token."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_slots
from opgold.reference._output_rows import require_layout
from opgold.reference.schema import In, InOut

INT32_MAX, INT64_MAX = np.iinfo(np.int32).max, np.iinfo(np.int64).max


def unified_update_model_status(
    seq_lens_encoder: InOut[Int32[ndarray, "max_bsz"]],
    seq_lens_decoder: InOut[Int32[ndarray, "max_bsz"]],
    has_running_seqs: InOut[Bool[ndarray, "1"]],
    step_input_ids: InOut[Int64[ndarray, "max_bsz max_step"]],
    step_output_ids: InOut[Int64[ndarray, "max_bsz max_step"]],
    step_output_len: InOut[Int32[ndarray, "max_bsz"]],
    stop_flags: InOut[Bool[ndarray, "max_bsz"]],
    seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    is_paused: In[Bool[ndarray, "max_bsz"]],
    token_ids_all: InOut[Int64[ndarray, "max_bsz max_model_len"]],
    prompt_lens: In[Int64[ndarray, "max_bsz"]],
    step_idx: InOut[Int64[ndarray, "max_bsz"]],
    end_tokens: In[Int64[ndarray, "end_token_count"]],
    max_dec_len: In[Int64[ndarray, "max_bsz"]],
    *,
    history_layout: int = 0,
) -> None:
    """Take the first `step_output_len[b]` tokens of row b of `step_output_ids`. Lengths and steps are in tokens.

    A slot neither stopped nor paused runs, also one past `bsz`. Each of its tokens adds 1 to `step_idx`; the first that
    is an end token, or with which the step reaches `max_dec_len`, is its last: `step_output_len` is cut behind it, the
    slot stops, and `end_tokens[0]` replaces it if it is no end token. An encoder length moves to the decoder length;
    without one, a decoder length that is not 0 grows by the tokens, also when the slot stops. Token k of the request
    (k from 0) goes to history column `prompt_lens + k`, or one further with `history_layout` 1; columns past the row
    are left out, those inside are written. The last token becomes the slot's input token in column 0. With no tokens,
    tokens and steps stay. A slot below `bsz` that does not run is stopped and its lengths become 0; one behind is left
    as it is. `has_running_seqs`: some slot runs on.

    Raises ValueError for running slots: tokens past their row, negative lengths or steps, sums past their type, a
    length stop without an end token; and for fewer rows than slots. Source: the newest GPU form (C) of the op, which
    writes no history at all where a step's tokens end at or past the last column.
    """
    live, tokens = ~stop_flags & ~is_paused, step_output_len.astype(np.int64)
    width, bsz = step_output_ids.shape[1], len(seq_lens_this_time)
    require_layout(history_layout)
    require_slots(bsz, stop_flags=stop_flags)
    fits = (tokens >= 0) & (tokens <= width)
    require(~live | fits, "step_output_len", tokens, f"0 to {width}, the columns of step_output_ids")
    for name, values in (("seq_lens_encoder", seq_lens_encoder), ("seq_lens_decoder", seq_lens_decoder)):
        require(~live | (values >= 0), name, values, "a length of at least 0")
    require(~live | (prompt_lens >= 0), "prompt_lens", prompt_lens, "a length of at least 0")
    counts = (step_idx >= 0) & (step_idx <= INT64_MAX - tokens)
    require(~live | counts, "step_idx", step_idx, "a count of tokens, with this step's in int64")
    added = np.where(seq_lens_encoder > 0, seq_lens_encoder, tokens)
    require(~live | (seq_lens_decoder <= INT32_MAX - added), "seq_lens_decoder", seq_lens_decoder, "a sum in int32")
    endless = live & (len(end_tokens) == 0) & (tokens > 0)
    require(~endless | (step_idx + tokens < max_dec_len), "max_dec_len", max_dec_len, "more: there is no end token")

    ends = set(end_tokens.tolist())
    for b in live.nonzero()[0]:
        out, step, limit = step_output_ids[b], int(step_idx[b]), int(max_dec_len[b])
        stops = [token in ends or step + i >= limit for i, token in enumerate(out[: tokens[b]].tolist(), 1)]
        n = stops.index(True) + 1 if any(stops) else len(stops)
        if any(stops) and int(out[n - 1]) not in ends:
            out[n - 1] = end_tokens[0]
        if seq_lens_encoder[b] > 0:
            seq_lens_decoder[b] += seq_lens_encoder[b]
            seq_lens_encoder[b] = 0
        elif seq_lens_decoder[b] > 0:
            seq_lens_decoder[b] += n
        first = int(prompt_lens[b]) + step + history_layout
        cells = token_ids_all[b, first : first + n]
        cells[:] = out[: len(cells)]
        if n > 0:
            step_input_ids[b, 0] = out[n - 1]
        step_output_len[b], step_idx[b], stop_flags[b] = n, step + n, any(stops)
    has_running_seqs[0] = (live & ~stop_flags).any()
    idle = ~live[:bsz]
    stop_flags[:bsz][idle] = True
    for lengths in (seq_lens_encoder, seq_lens_decoder, step_output_len, seq_lens_this_time):
        lengths[:bsz][idle] = 0
