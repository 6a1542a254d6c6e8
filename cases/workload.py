"""What a benchmark measures: batches of 256 slots as a server runs them. An op's inputs for them are its strategy's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from opgold.cases.slots import prefix_sum
from opgold.reference.schema import as_dtype

SLOTS = 256
PREFILL = 8192  # tokens of a prompt chunk


@dataclass(frozen=True)
class Batch:
    """Slots that decode `drafts` tokens each; with a `prefill`, slot 0 runs so long a prompt chunk instead."""

    name: str
    drafts: int
    prefill: int = 0
    width: int = 0  # of a hidden row
    dtype: str = "bfloat16"

    @property
    def this(self) -> np.ndarray:
        """Tokens of each slot, int32 [SLOTS]."""
        this = np.full(SLOTS, self.drafts, np.int32)
        if self.prefill:
            this[0] = self.prefill
        return this

    @property
    def enc(self) -> np.ndarray:
        enc = np.zeros(SLOTS, np.int32)
        enc[0] = self.prefill
        return enc

    @property
    def dec(self) -> np.ndarray:
        dec = np.random.default_rng(1).integers(100, 4000, SLOTS, np.int32)
        return np.where(self.enc > 0, 0, dec).astype(np.int32)

    @property
    def rows(self) -> np.ndarray:
        """Output rows of each slot, int32 [SLOTS]."""
        return np.where(self.enc > 0, 1, self.this).astype(np.int32)

    @property
    def tokens(self) -> int:
        return int(self.this.sum())

    def ids(self, *shape: int) -> np.ndarray:
        """Token ids, int64."""
        return np.random.default_rng(2).integers(3, 100_000, shape)

    @property
    def hidden(self) -> np.ndarray:
        """A row of `width` for each token."""
        rows = np.random.default_rng(3).standard_normal((self.tokens, self.width), np.float32)
        return rows.astype(as_dtype(self.dtype))

    @property
    def cu_seqlens_q(self) -> np.ndarray:
        """int32 [SLOTS+1]."""
        return prefix_sum(self.this)

    @property
    def cu_seqlens_q_output(self) -> np.ndarray:
        """int32 [SLOTS+1]."""
        return prefix_sum(self.rows)


@dataclass(frozen=True)
class Workload:
    """An op's inputs for a batch, and what a call should not exceed.

    `limit` is in `unit`: on a GPU times an empty kernel, a copy of the bytes that the op writes, or a read of its
    largest input; or microseconds of the golden model.
    """

    batch: Batch
    inputs: Callable[[Batch], dict[str, Any]]
    limit: float | None = None
    unit: Literal["empty", "copy", "read", "us"] = "empty"


DECODE = Batch("256 slots x 5 tokens", drafts=5)
WITH_PREFILL = Batch("255 x 5 tokens, one chunk of 8,192", drafts=5, prefill=PREFILL)
HIDDEN = Batch("1,280 rows x 8,192 bfloat16", drafts=5, width=8192)
PACKED = Batch("256 slots, 8,192 tokens", drafts=32)
PACKED_HIDDEN = Batch("256 slots, 8,192 tokens x 64 float32", drafts=32, width=64, dtype="float32")


def index_op(inputs: Callable[[Batch], dict[str, Any]], decode: float = 4, prefill: float = 4) -> tuple[Workload, ...]:
    """The workloads of an op that only moves indices, with its limits in empty kernels."""
    return (
        Workload(DECODE, inputs, decode),
        Workload(WITH_PREFILL, inputs, prefill),
        Workload(PACKED, inputs, 5_000, "us"),
    )


def row_op(inputs: Callable[[Batch], dict[str, Any]], limit: float = 1.15) -> tuple[Workload, ...]:
    """The workloads of an op that moves hidden rows, with its limit in copies of the same bytes."""
    return (Workload(HIDDEN, inputs, limit, "copy"), Workload(PACKED_HIDDEN, inputs, 25_000, "us"))
