"""This step's accepted tokens into the history, and the counters of stopped slots."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require
from opgold.reference._output_rows import require_layout, require_slots
from opgold.reference.schema import In, InOut


def speculate_set_value_by_flags_and_idx(
    token_ids_all: InOut[Int64[ndarray, "slots max_model_len"]],
    prompt_lens: In[Int64[ndarray, "slots"]],
    accept_tokens: In[Int64[ndarray, "slots max_draft"]],
    accept_num: InOut[Int32[ndarray, "slots"]],
    stop_flags: In[Bool[ndarray, "slots"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "slots"]],
    seq_lens_decoder: InOut[Int32[ndarray, "slots"]],
    step_idx: In[Int64[ndarray, "slots"]],
    *,
    history_layout: int = 1,
) -> None:
    """Write each running slot's `accept_num` tokens so that the last one is generated token number `step_idx`.

    `step_idx` has counted them already. The last token goes to entry `step_idx` behind the prompt (`history_layout` 1)
    or to the one before it (0), its predecessors to the entries before. An entry is written only if it lies behind the
    prompt (0 or more) and inside the row. A running slot with neither encoder nor decoder length, or with a `step_idx`
    of 0 or less, keeps everything. A stopped slot's `accept_num` and `seq_lens_decoder` become 0. Slots behind the
    `seq_lens_this_time` ones, of which only the number counts, are untouched. Lengths are in tokens.

    Raises ValueError for slots that write: `accept_num` outside the row of `accept_tokens`, a negative prompt length.
    Source: the newest form of the op with prompt lengths; the bounds are this contract's.
    """
    bsz, (slots, width) = len(seq_lens_this_time), accept_tokens.shape
    require_layout(history_layout)
    require_slots(slots, bsz)
    here = np.arange(slots) < bsz
    writes = here & ~stop_flags & ((seq_lens_encoder != 0) | (seq_lens_decoder != 0)) & (step_idx > 0)
    fits = (accept_num >= 0) & (accept_num <= width)
    require(~writes | fits, "accept_num", accept_num, f"0 to {width}, the columns of accept_tokens")
    require(~writes | (prompt_lens >= 0), "prompt_lens", prompt_lens, "a length of at least 0")

    for b in np.flatnonzero(writes):
        count, base = int(accept_num[b]), int(prompt_lens[b])
        first = int(step_idx[b]) + history_layout - count
        for column in range(max(0, -first), min(count, token_ids_all.shape[1] - base - first)):
            token_ids_all[b, base + first + column] = accept_tokens[b, column]
    accept_num[here & stop_flags] = 0
    seq_lens_decoder[here & stop_flags] = 0
