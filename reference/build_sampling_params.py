"""Sampling parameters of every packed output row, and each slot's next seed."""

from __future__ import annotations

from jaxtyping import Float32, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require, require_capacity, require_row_sums
from opgold.reference.schema import In, InOut, Out


def build_sampling_params(
    top_p: In[Float32[ndarray, "max_bsz"]],
    top_k: In[Int64[ndarray, "max_bsz"]],
    infer_seed: InOut[Int64[ndarray, "max_bsz"]],
    seq_lens_this_time: In[Int32[ndarray, "bsz"]],
    cu_seqlens_q_output: In[Int32[ndarray, "bsz+1"]],
    *,
    token_num_output_cpu: int,
    increment_value: int,
    max_infer_seed: int,
    top_p_padding: Out[Float32[ndarray, "token_num_output_cpu 1"]],
    top_k_padding: Out[Int64[ndarray, "token_num_output_cpu 1"]],
    topp_seed: Out[Int64[ndarray, "token_num_output_cpu 1"]],
) -> None:
    """Give each output row its slot's `top_p` and `top_k`, bit for bit, and a seed of its own.

    Slot b owns the rows from `cu_seqlens_q_output[b]` up to `cu_seqlens_q_output[b+1]`. Its row j (from 0) gets the
    seed `(infer_seed[b] + 4 j) mod max_infer_seed`, and `infer_seed[b]` becomes `(infer_seed[b] + increment_value) mod
    max_infer_seed`, also of a slot without rows. Sums are exact: they do not wrap at 2^63. Rows behind the last slot's
    get top_p 1, top_k 1 and seed 0; seeds behind the last slot stay. Of `seq_lens_this_time` only the length counts.
    `max_infer_seed` is 2^63 - 2 on GPUs, 2^31 - 2 on XPUs.

    Raises ValueError for a seed outside 0 .. max_infer_seed - 1, a negative increment, a modulus below 1, sums that do
    not start at 0 or that fall, fewer rows than they need. Source: the newest GPU form of the op; the modulus is a
    parameter, the sums exact and the tail defined.
    """
    bsz, starts = len(seq_lens_this_time), cu_seqlens_q_output
    require_capacity("top_p", len(top_p), bsz, "the slots of seq_lens_this_time")
    if max_infer_seed < 1:
        raise ValueError(f"max_infer_seed: {max_infer_seed}, expected at least 1")
    if increment_value < 0:
        raise ValueError(f"increment_value: {increment_value}, expected at least 0")
    require_row_sums("cu_seqlens_q_output", starts, token_num_output_cpu, "token_num_output_cpu")
    seeds = infer_seed[:bsz]
    require((seeds >= 0) & (seeds < max_infer_seed), "infer_seed", seeds, f"0 to {max_infer_seed - 1}")

    top_p_padding[starts[-1] :] = 1
    top_k_padding[starts[-1] :] = 1
    topp_seed[starts[-1] :] = 0
    for b in range(bsz):
        first, end, seed = starts[b], starts[b + 1], int(infer_seed[b])
        top_p_padding[first:end] = top_p[b]
        top_k_padding[first:end] = top_k[b]
        topp_seed[first:end, 0] = [(seed + 4 * j) % max_infer_seed for j in range(end - first)]
        infer_seed[b] = (seed + increment_value) % max_infer_seed
