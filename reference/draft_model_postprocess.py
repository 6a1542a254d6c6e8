"""How many tokens the target model verifies after a round of drafts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._draft_model import require_in
from opgold.reference.schema import In, InOut


def draft_model_postprocess(
    base_model_draft_tokens: In[Int64[ndarray, "bsz base_draft"]],
    base_model_seq_lens_this_time: InOut[Int32[ndarray, "bsz"]],
    base_model_seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    base_model_stop_flags: In[Bool[ndarray, "bsz"]],
) -> None:
    """Set the base (target) model's tokens of its next step.

    A stopped row runs none. A row without encoder length runs all entries of its draft row other than -1, wherever they
    stand (5, -1, 7 are two). A prompt chunk keeps its tokens, whatever they are.

    Raises ValueError for a negative encoder length of a row that is not stopped. Source: the op as proposers call it.
    """
    enc = base_model_seq_lens_encoder
    require_in(~base_model_stop_flags, enc >= 0, "base_model_seq_lens_encoder", enc, "a length of at least 0")

    for b, row in enumerate(base_model_draft_tokens):
        if base_model_stop_flags[b]:
            base_model_seq_lens_this_time[b] = 0
        elif enc[b] == 0:
            base_model_seq_lens_this_time[b] = np.count_nonzero(row != -1)
