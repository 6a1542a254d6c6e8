"""What is measured: batches of 256 slots as a server runs them, and the inputs that each op gets for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from opgold.harness.bench.row import Target
from opgold.harness.case import Case
from opgold.reference.schema import Value

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
        return np.random.default_rng(2).integers(3, 100_000, shape)


def prefix(lengths: np.ndarray) -> np.ndarray:
    """int32 [n+1], element 0 is 0."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def _pack(batch: Batch) -> dict[str, Value]:
    return {
        "input_ids": batch.ids(SLOTS, PREFILL),
        "seq_len": batch.this,
        "draft_tokens": batch.ids(SLOTS, batch.drafts),
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "cpu_token_num": batch.tokens,
    }


def _mask(batch: Batch) -> dict[str, Value]:
    return {
        "ids_remove_padding": batch.ids(batch.tokens),
        "seq_lens_this_time": batch.this,
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "cu_seqlens_q": prefix(batch.this),
        "attn_mask_offsets_full": np.tile(np.arange(PREFILL, dtype=np.int32), (SLOTS, 1)),
        "is_block_step": np.zeros(SLOTS, bool),
        "decode_states": np.zeros((SLOTS, batch.drafts), np.int32),
    }


def _stateful_mask(batch: Batch) -> dict[str, Value]:
    return _mask(batch) | {"attn_mask_offsets_decoder": batch.dec, "mask_rollback": np.zeros(SLOTS, np.int32)}


def _output_counts(batch: Batch) -> dict[str, Value]:
    return {"seq_lens_this_time": batch.this, "seq_lens_encoder": batch.enc, "seq_lens_decoder": batch.dec}


def _output_offsets(batch: Batch) -> dict[str, Value]:
    rows = batch.rows
    return {
        "output_cum_offsets_tmp": prefix(batch.drafts - rows)[1:],
        "seq_lens_output": rows,
        "out_token_num": int(rows.sum()),
        "max_seq_len": batch.drafts,
    }


def _rebuild(batch: Batch) -> dict[str, Value]:
    dtype = ml_dtypes.bfloat16 if batch.dtype == "bfloat16" else np.dtype(batch.dtype)
    rows = batch.rows
    return {
        "tmp_out": np.random.default_rng(3).standard_normal((batch.tokens, batch.width), np.float32).astype(dtype),
        "cu_seqlens_q": prefix(batch.this),
        "seq_lens_this_time": batch.this,
        "seq_lens_decoder": batch.dec,
        "seq_lens_encoder": batch.enc,
        "batch_id_per_token_output": np.repeat(np.arange(SLOTS, dtype=np.int32), rows),
        "cu_seqlens_q_output": prefix(rows),
    }


INPUTS: dict[str, Callable[[Batch], dict[str, Value]]] = {
    "get_padding_offset": _pack,
    "speculate_pre_process": _pack,
    "update_attn_mask_offsets": _stateful_mask,
    "update_attn_mask_offsets_stateless": _mask,
    "speculate_get_seq_lens_output": _output_counts,
    "speculate_get_output_padding_offset": _output_offsets,
    "rebuild_padding": _rebuild,
}

DECODE = Batch("256 slots x 5 tokens", drafts=5)
WITH_PREFILL = Batch("255 x 5 tokens, one chunk of 8,192", drafts=5, prefill=PREFILL)
HIDDEN = Batch("1,280 rows x 8,192 bfloat16", drafts=5, width=8192)
PACKED = Batch("256 slots, 8,192 tokens", drafts=32)
PACKED_HIDDEN = Batch("256 slots, 8,192 tokens x 64 float32", drafts=32, width=64, dtype="float32")

GPU_TARGETS = {
    ("rebuild_padding", HIDDEN): Target(1.15, "copy"),
    ("update_attn_mask_offsets", DECODE): Target(3, "empty"),
    ("update_attn_mask_offsets", WITH_PREFILL): Target(4, "empty"),
    ("get_padding_offset", DECODE): Target(4, "empty"),
    ("get_padding_offset", WITH_PREFILL): Target(4, "empty"),
    ("speculate_pre_process", DECODE): Target(4, "empty"),
    ("speculate_pre_process", WITH_PREFILL): Target(4, "empty"),
}


def on_gpu(ops: Sequence[str]) -> Iterator[tuple[Batch, Case, Target | None]]:
    """Workloads for a GPU."""
    for op in (op for op in ops if op in INPUTS):
        for batch in (HIDDEN,) if op == "rebuild_padding" else (DECODE, WITH_PREFILL):
            yield batch, Case(op, INPUTS[op](batch)), GPU_TARGETS.get((op, batch))


def of_models(ops: Sequence[str]) -> Iterator[tuple[Batch, Case, Target]]:
    """Workloads for golden models."""
    for op in (op for op in ops if op in INPUTS):
        batch, target = (PACKED_HIDDEN, 25_000) if op == "rebuild_padding" else (PACKED, 5_000)
        yield batch, Case(op, INPUTS[op](batch)), Target(target, "us")
