"""A sampling parameter of every packed output row, for log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int32
from numpy import ndarray

from opgold.reference._contract import prefix_sum, require, require_capacity
from opgold.reference.schema import In, Out

if TYPE_CHECKING:  # an abstract dtype of jaxtyping is no type to a type checker
    from jaxtyping import Shaped as Setting
else:
    from jaxtyping import AbstractDtype

    class Setting(AbstractDtype):
        """A sampling parameter's type. One signature means one dtype by it."""

        dtypes = ("float32", "int32", "bool")


def build_sampling_params_logprob(
    input_params: In[Setting[ndarray, "params"]],
    token_num_per_batch: In[Int32[ndarray, "bsz"]],
    *,
    token_num_output_cpu: int,
    out: Out[Setting[ndarray, "token_num_output_cpu"]],
) -> None:
    """Repeat `input_params[b]`, bit for bit, for each of the `token_num_per_batch[b]` rows of slot b, slot after slot.

    Rows behind the last slot's get 1.0, 1 or false: safe to divide by. Parameters behind the last slot's are not looked
    at.

    Raises ValueError for a negative count, counts that sum to more than `token_num_output_cpu`, fewer parameters than
    counts. Source: the GPU form of the op, which dropped rows past the output and took negative counts for offsets.
    """
    bsz, starts = len(token_num_per_batch), prefix_sum(token_num_per_batch)
    require_capacity("input_params", len(input_params), bsz, "the slots of token_num_per_batch")
    require(token_num_per_batch >= 0, "token_num_per_batch", token_num_per_batch, "a count of at least 0")
    require_capacity("token_num_output_cpu", token_num_output_cpu, int(starts[-1]), "the sum of token_num_per_batch")

    out[:] = 0 if out.dtype == np.bool_ else 1
    for b in range(bsz):
        out[starts[b] : starts[b + 1]] = input_params[b]
