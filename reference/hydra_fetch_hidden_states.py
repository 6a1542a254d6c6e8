"""The hidden row of each slot's last accepted token, by the legacy output-side offsets."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import require, require_capacity, require_lengths, require_padded_length
from opgold.reference.schema import Hidden, In, Out


def hydra_fetch_hidden_states(
    output_hidden_states: In[Hidden[ndarray, "tokens dim_embed"]],
    output_padding_offset: In[Int32[ndarray, "tokens"]],
    accept_token_num: In[Int32[ndarray, "slots"]],
    *,
    bsz: int,
    max_seq_length: int,
    out: Out[Hidden[ndarray, "bsz dim_embed"]],
) -> None:
    """Row b of `out` is slot b's row `accept_token_num[b] - 1`; zero if it accepts nothing or more rows than it has.

    Row t of `output_hidden_states` is row i of slot b where t + `output_padding_offset[t]` is b * `max_seq_length` + i:
    slot after slot, each slot's rows from its row 0 on. Rows with offset 0 behind rows with other offsets are unused.
    Accepted counts of slots from `bsz` on are not looked at.

    Raises ValueError for a negative count, fewer counts than `bsz`, `bsz * max_seq_length` of 2^31 or more, and offsets
    that are not as said. Source: the GPU op, whose registered attribute is `max_seq_length,`, with a comma.
    """
    require_padded_length("max_seq_length", max_seq_length, bsz)
    require_capacity("accept_token_num", len(accept_token_num), bsz, "slots: bsz")
    accepted = accept_token_num[:bsz]
    require_lengths(accept_token_num=accepted)
    places = _places(output_padding_offset, max_seq_length, bsz)

    out[:] = 0
    for b, count in enumerate(accepted.tolist()):
        row = np.flatnonzero(places == b * max_seq_length + count - 1)
        if len(row) and 0 < count <= max_seq_length:
            out[b] = output_hidden_states[row[0]]


def _places(output_padding_offset: np.ndarray, max_seq_length: int, bsz: int) -> np.ndarray:
    """Where each used row stands in the padded batch, int64."""
    offsets, capacity = output_padding_offset.astype(np.int64), bsz * max_seq_length
    zero = offsets == 0
    moved = np.cumsum(~zero) > 0
    used = np.argmax(zero & moved) if np.any(zero & moved) else len(offsets) if np.any(moved) else capacity
    require(zero[used:], "output_padding_offset", output_padding_offset[used:], "0 behind the first unused row")
    places = (np.arange(len(offsets)) + offsets)[:used]
    found = output_padding_offset[:used]
    require((places >= 0) & (places < capacity), "output_padding_offset", found, f"a row of one of {bsz} slots")
    step = np.diff(places, prepend=-1)
    starts_slot = (step > 0) & (places % max_seq_length == 0)
    require((step == 1) | starts_slot, "output_padding_offset", found, "the row before's, or that of a slot's row 0")
    return places
