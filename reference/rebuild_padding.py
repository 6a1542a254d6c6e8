"""The rows of a packed batch that go on to sampling."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import (
    require,
    require_capacity,
    require_lengths,
    require_no_ghost,
    require_prefix_sum,
)
from opgold.reference.schema import Hidden, In, InOut, Out


def sizes(
    tmp_out: ndarray, seq_lens_encoder: ndarray, seq_lens_this_time: ndarray, batch_id_per_token_output: ndarray | None
) -> dict[str, int]:
    """`rows`: one a slot or, in speculative mode, every token except all but the last of each prompt chunk."""
    if batch_id_per_token_output is None:
        return {"rows": len(seq_lens_this_time)}
    prompts = seq_lens_encoder[seq_lens_encoder > 0]
    return {"rows": max(0, len(tmp_out) - int(prompts.sum(dtype=np.int64)) + len(prompts))}


def rebuild_padding(
    tmp_out: In[Hidden[ndarray, "tokens dim_embed"]],
    cu_seqlens_q: In[Int32[ndarray, "bsz+1"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    seq_lens_decoder: In[Int32[ndarray, "bsz"]],
    seq_lens_encoder: In[Int32[ndarray, "bsz"]],
    batch_id_per_token_output: In[Int32[ndarray, "ids"]] | None = None,
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]] | None = None,
    first_token_out: InOut[Hidden[ndarray, "slots dim_embed"]] | None = None,
    *,
    enable_logprob: bool = False,
    out: Out[Hidden[ndarray, "rows dim_embed"]],
) -> None:
    """Pick the last row of a prompt chunk (`seq_lens_encoder` > 0) and the rows of a decode slot.

    Normal mode: row b of `out` is slot b's, its first one for a decode slot, zero for an idle slot. Speculative mode
    (`batch_id_per_token_output` and `cu_seqlens_q_output` given): all rows of all slots, slot after slot;
    `cu_seqlens_q_output` is the prefix sum of each slot's rows, `batch_id_per_token_output` their slots, where -1
    leaves a row zero. Ids behind the last row are not looked at. Further rows of `out` are zero in both modes. With
    `enable_logprob` in speculative mode row b of `first_token_out` gets the row before the last of slot b's prompt
    chunk, if that has two tokens and its output row is not left zero; all else in `first_token_out` keeps its value.

    Raises ValueError for negative lengths, ghosts, a prompt chunk whose two lengths differ, prefix sums and ids that
    do not agree with the lengths, too few rows in any array, one of the pair alone, and `enable_logprob` with a prompt
    chunk but no `first_token_out`. Lengths are in tokens. Source: the newest GPU form (R3) of the op.
    """
    this, enc, bsz = seq_lens_this_time, seq_lens_encoder, len(seq_lens_this_time)
    ids, starts = batch_id_per_token_output, cu_seqlens_q_output
    require_lengths(seq_lens_this_time=this, seq_lens_decoder=seq_lens_decoder, seq_lens_encoder=enc)
    require_no_ghost(this, enc, seq_lens_decoder)
    require((enc == 0) | (enc == this), "seq_lens_encoder", enc, "0, or the slot's seq_lens_this_time")
    require_prefix_sum("cu_seqlens_q", cu_seqlens_q, this, "seq_lens_this_time")
    require_capacity("tmp_out", len(tmp_out), cu_seqlens_q[bsz], "rows: the sum of seq_lens_this_time")
    if first_token_out is not None:
        require_capacity("first_token_out", len(first_token_out), bsz, "rows: one a slot")
    if (ids is None) != (starts is None):
        raise ValueError("batch_id_per_token_output, cu_seqlens_q_output: one is given, expected both or neither")
    if ids is not None and starts is not None:
        _require_output_rows(ids, starts, np.where(enc > 0, 1, this))
        if enable_logprob and first_token_out is None and np.any(enc > 0):
            raise ValueError(f"first_token_out: required, slot {np.argmax(enc > 0)} has a prompt chunk")
    require_capacity("out", len(out), bsz if starts is None else starts[bsz], "rows: the output rows of all slots")

    out[:] = 0
    for b in np.flatnonzero(this):
        tokens = tmp_out[cu_seqlens_q[b] : cu_seqlens_q[b + 1]]
        picked = tokens[-1:] if enc[b] > 0 else tokens
        if ids is None or starts is None:
            out[b] = picked[0]
            continue
        rows = slice(starts[b], starts[b + 1])
        live = ids[rows] == b
        out[rows][live] = picked[live]
        if first_token_out is not None and enable_logprob and enc[b] > 1 and live[0]:
            first_token_out[b] = tokens[-2]


def _require_output_rows(ids: ndarray, starts: ndarray, rows: ndarray) -> None:
    """`starts` is the prefix sum of `rows`, and `ids` names each row's slot or is -1."""
    require_prefix_sum("cu_seqlens_q_output", starts, rows, "the slots' output rows")
    slots = np.repeat(np.arange(len(rows)), rows)
    require_capacity("batch_id_per_token_output", len(ids), len(slots), "ids: the output rows of all slots")
    found = ids[: len(slots)]
    wrong = np.flatnonzero((found != -1) & (found != slots))
    if wrong.size:
        t = wrong[0]
        raise ValueError(
            f"batch_id_per_token_output[{t}] is {ids[t]}, expected {slots[t]}, slot of output row {t}, or -1"
        )
