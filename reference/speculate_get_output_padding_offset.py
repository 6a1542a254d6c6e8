"""Where each output row stands in a padded batch: the legacy form of the output-side indices."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require, require_capacity, require_lengths
from opgold.reference.schema import In, Out


def speculate_get_output_padding_offset(
    output_cum_offsets_tmp: In[Int32[ndarray, "bsz"]],
    seq_lens_output: In[Int32[ndarray, "bsz"]],
    *,
    out_token_num: int,
    max_seq_len: int,
    output_padding_offset: Out[Int32[ndarray, "out_token_num"]],
    output_cum_offsets: Out[Int32[ndarray, "bsz"]],
) -> None:
    """Say how far each output row moves when the batch is padded to `max_seq_len` rows a slot.

    Row i of slot b, packed as row t, gets `output_padding_offset[t] = b * max_seq_len + i - t`; behind the last output
    row the offsets are 0. `output_cum_offsets[b]` is that offset for slot b's first row, whether or not it has one: the
    padding before slot b. `output_cum_offsets_tmp[b]` adds slot b's own, `max_seq_len - seq_lens_output[b]`.
    Conversion to the newer pair: `cu_seqlens_q_output[b] = b * max_seq_len - output_cum_offsets[b]`, and for rows of
    slots `batch_id_per_token_output[t] = (t + output_padding_offset[t]) // max_seq_len`.

    Raises ValueError for a negative `max_seq_len`, `bsz * max_seq_len` of 2^31 or more (a consumer's `t + offset` must
    fit int32), a negative count, more rows than `max_seq_len`, an `output_cum_offsets_tmp` that is no such sum, and
    `out_token_num` below the number of rows. Source: the legacy op, with `out_token_num` on the host.
    """
    limit = (2**31 - 1) // max(1, len(seq_lens_output))
    if not 0 <= max_seq_len <= limit:
        raise ValueError(f"max_seq_len: {max_seq_len}, expected 0 to {limit} for {len(seq_lens_output)} slots")
    require_lengths(seq_lens_output=seq_lens_output)
    require(seq_lens_output <= max_seq_len, "seq_lens_output", seq_lens_output, f"at most max_seq_len, {max_seq_len}")
    padding = prefix_sum(max_seq_len - seq_lens_output.astype(np.int64))
    summed = "the sum of max_seq_len - seq_lens_output up to there"
    require(output_cum_offsets_tmp == padding[1:], "output_cum_offsets_tmp", output_cum_offsets_tmp, summed)
    starts = prefix_sum(seq_lens_output)
    require_capacity("out_token_num", out_token_num, starts[-1], "the sum of seq_lens_output")

    output_cum_offsets[:] = padding[:-1]
    output_padding_offset[:] = 0
    for b in range(len(seq_lens_output)):
        output_padding_offset[starts[b] : starts[b + 1]] = padding[b]
