"""The position of every packed token in its sequence."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require, require_capacity, require_lengths, require_no_ghost
from opgold.reference.schema import In, InOut


def get_position_ids_and_mask_encoder_batch(
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    position_ids: InOut[Int32[ndarray, "tokens"]],
) -> None:
    """Write `seq_lens_decoder + i` for token i of every slot, slot after slot. Lengths are in tokens.

    A prompt chunk has `seq_lens_encoder` tokens, a decode slot `seq_lens_this_time`. Entries behind the last token keep
    their values. The op's name is older than its form: it writes no mask.

    Raises ValueError for negative lengths, ghosts, a prompt chunk whose two lengths differ (a held one's do), fewer
    entries than tokens, and a position past int32. Source: the newest GPU form (P1) of the op.
    """
    this, enc, dec = seq_lens_this_time, seq_lens_encoder, seq_lens_decoder
    require_lengths(seq_lens_encoder=enc, seq_lens_decoder=dec, seq_lens_this_time=this)
    require_no_ghost(this, enc, dec)
    require((enc == 0) | (enc == this), "seq_lens_encoder", enc, "0, or the slot's seq_lens_this_time")
    highest = 2**31 - np.maximum(this, 1).astype(np.int64)
    require(dec <= highest, "seq_lens_decoder", dec, "a position below 2^31 for the slot's last token")
    starts = prefix_sum(this)
    require_capacity("position_ids", len(position_ids), starts[-1], "entries: the sum of seq_lens_this_time")

    for b, length in enumerate(this):
        position_ids[starts[b] : starts[b + 1]] = dec[b] + np.arange(length)
