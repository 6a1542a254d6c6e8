"""Slots and their packed output rows, as the sampling ops see them, and how arrays of more slots than a step lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opgold.cases.relations import Arrays, PerSlot


def rows_of(inputs: Arrays) -> np.ndarray:
    """Output rows of each slot, [bsz]."""
    return np.diff(np.asarray(inputs["cu_seqlens_q_output"]).astype(np.int64))


@dataclass(frozen=True)
class Leading(PerSlot):
    """One row for each of the step's slots, then rows of slots that the step does not have; these stay behind."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        bsz = len(np.asarray(inputs["seq_lens_this_time"]))
        return np.concatenate([PerSlot(self.idle).reorder(array[:bsz], order, inputs), array[bsz:]])
