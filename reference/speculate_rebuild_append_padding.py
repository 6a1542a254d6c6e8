"""The rows of a packed batch that go on to sampling, by the legacy output-side offsets."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import (
    prefix_sum,
    require,
    require_capacity,
    require_lengths,
    require_no_ghost,
    require_padded_length,
)
from opgold.reference.schema import Hidden, In, Out


def speculate_rebuild_append_padding(
    full_hidden_states: In[Hidden[ndarray, "tokens dim_embed"]],
    cum_offsets: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    output_padding_offset: In[Int32[ndarray, "rows"]],
    *,
    max_seq_len: int,
    out: Out[Hidden[ndarray, "rows dim_embed"]],
) -> None:
    """Pick the last row of a prompt chunk (`seq_lens_encoder` > 0) and all rows of a decode slot, slot after slot.

    `cum_offsets[b]` is the padding before slot b: its packed rows start at `b * max_seq_len - cum_offsets[b]` and end
    where the next slot's start; those of the last slot may end before the last row, which nothing here tells. Output
    row t is row i of slot b where t + `output_padding_offset[t]` is `b * max_seq_len + i`. Behind the last slot's rows
    the offsets are 0 and `out` is zero.

    Raises ValueError for negative lengths, ghosts, a prompt chunk that is not as long as its slot, sums and offsets
    that do not agree with the lengths, too few rows in any array, an unused offset that names a slot's row, and
    `bsz * max_seq_len` of 2^31 or more. Lengths are in tokens. Source: the legacy op.
    """
    enc, dec, bsz, tokens = seq_lens_encoder, seq_lens_decoder, len(cum_offsets), len(full_hidden_states)
    require_padded_length("max_seq_len", max_seq_len, bsz)
    require_lengths(seq_lens_encoder=enc, seq_lens_decoder=dec)
    starts = np.append(np.arange(bsz) * max_seq_len - cum_offsets, tokens)
    lengths = np.diff(starts)
    fits = (lengths[:-1] >= 0) & (lengths[:-1] <= max_seq_len)
    padding = "0, then the slot before's and at most max_seq_len more"
    require(np.append(starts[:-1][:1] == 0, fits), "cum_offsets", cum_offsets, padding)
    require_capacity("full_hidden_states", tokens, max(starts), "rows: the start of the last slot")
    last = slice(bsz - 1, bsz)
    lengths[last] = np.where(enc[last] > 0, np.minimum(lengths, enc)[last], np.where(dec[last] > 0, lengths[last], 0))
    require_no_ghost(lengths, enc, dec, "tokens by cum_offsets")
    require((enc == 0) | (enc == lengths), "seq_lens_encoder", enc, "0, or the tokens of its slot")
    slots, index = _output_rows(output_padding_offset, np.where(enc > 0, 1, lengths), enc, max_seq_len)

    out[:] = 0
    for b in np.unique(slots):
        rows = slice(*np.searchsorted(slots, [b, b + 1]))
        picked = index[rows] if enc[b] == 0 else enc[b] - 1
        out[rows] = full_hidden_states[starts[b] + picked]


def _output_rows(offsets: ndarray, rows: ndarray, enc: ndarray, max_seq_len: int) -> tuple[ndarray, ndarray]:
    """Slot and row in it of every used output row. A decode slot that is the last may have fewer than its `rows`."""
    slots = np.repeat(np.arange(len(rows)), rows)
    index = np.arange(len(slots)) - prefix_sum(rows)[slots]
    least = len(slots) if not len(rows) or enc[-1] > 0 else len(slots) - rows[-1]
    require_capacity("output_padding_offset", len(offsets), least, "rows: the output rows of all slots")
    slots, index = slots[: len(offsets)], index[: len(offsets)]
    expected = slots * max_seq_len + index - np.arange(len(slots))
    same = offsets[: len(slots)] == expected
    require(same[:least], "output_padding_offset", offsets, "the padding before the row's slot")
    used = len(slots) if np.all(same) else int(np.argmin(same))
    slot, row = np.divmod(np.arange(len(offsets)), max_seq_len)
    unused = slot >= len(rows)
    unused[~unused] = row[~unused] >= rows[slot[~unused]]
    behind = (offsets == 0) & unused
    behind[:used] = True
    require(behind, "output_padding_offset", offsets, "the padding before a slot, or 0 where that names no slot's row")
    return slots[:used], index[:used]
