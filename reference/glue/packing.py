"""What a step's packing makes, the buffers that it goes to, and the arrays that only make sense together.

Source: the Python glue, sections 2.3, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from opgold.reference._contract import prefix_sum, require_capacity
from opgold.reference.get_padding_offset import get_padding_offset
from opgold.reference.speculate_pre_process import speculate_pre_process


class PreProcessed(NamedTuple):
    """The seven results of `pre_process`, in order; the last three are None in a step without drafts."""

    ids_remove_padding: np.ndarray
    batch_id_per_token: np.ndarray
    cu_seqlens_q: np.ndarray
    cu_seqlens_k: np.ndarray
    cu_seqlens_q_output: np.ndarray | None
    batch_id_per_token_output: np.ndarray | None
    real_output_token_num: np.ndarray | None


def pre_process(
    token_num: int,
    input_ids: np.ndarray,
    seq_lens_this_time: np.ndarray,
    speculative: bool,
    draft_tokens: np.ndarray | None = None,
    seq_lens_encoder: np.ndarray | None = None,
    seq_lens_decoder: np.ndarray | None = None,
) -> PreProcessed:
    """Pack a step of `token_num` tokens: by `speculate_pre_process` where it is speculative, else by
    `get_padding_offset` without drafts and without lengths of encoder and decoder. The same on every platform.

    Raises ValueError as these ops do, and for a speculative step without drafts and lengths.
    """
    rows = len(seq_lens_this_time)
    ids, slots = np.empty(token_num, np.int64), np.empty(token_num, np.int32)
    sums, key_sums, output_sums = np.empty((3, rows + 1), np.int32)
    packed = {"batch_id_per_token": slots, "cu_seqlens_q": sums, "cu_seqlens_k": key_sums}
    if not speculative:
        get_padding_offset(input_ids, seq_lens_this_time, cpu_token_num=token_num, x_remove_padding=ids, **packed)
        return PreProcessed(ids, slots, sums, key_sums, None, None, None)
    if draft_tokens is None or seq_lens_encoder is None or seq_lens_decoder is None:
        raise ValueError("draft_tokens, seq_lens_encoder, seq_lens_decoder: expected all in a speculative step")
    output_slots, count = np.empty(rows * draft_tokens.shape[1], np.int32), np.empty(1, np.int32)
    speculate_pre_process(
        input_ids,
        seq_lens_this_time,
        draft_tokens,
        seq_lens_encoder,
        seq_lens_decoder,
        cpu_token_num=token_num,
        ids_remove_padding=ids,
        cu_seqlens_q_output=output_sums,
        batch_id_per_token_output=output_slots,
        real_output_token_num=count,
        **packed,
    )
    return PreProcessed(ids, slots, sums, key_sums, output_sums, output_slots, count)


def copy_into(name: str, buffer: np.ndarray, values: np.ndarray, fill: int | None = None) -> None:
    """Write `values` to the front of a buffer of full size. Behind them stands `fill`, or the last value if None.

    Raises ValueError for more values than the buffer holds, and for another dtype.
    """
    require_capacity(name, len(buffer), len(values), "the values that are copied")
    if buffer.dtype != values.dtype:
        raise ValueError(f"{name}: {values.dtype} values for a buffer of {buffer.dtype}")
    shape = (len(values), *buffer.shape[1:])
    buffer[: len(values)] = values.reshape(shape)
    buffer[len(values) :] = buffer[len(values) - 1] if fill is None and len(values) else fill or 0


FILLS: Mapping[str, int | None] = {
    "ids_remove_padding": 2,
    "batch_id_per_token": -1,
    "cu_seqlens_q": None,
    "cu_seqlens_k": None,
    "cu_seqlens_q_output": None,
    "batch_id_per_token_output": -1,
}


def copy_results(batch: Mapping[str, np.ndarray], results: PreProcessed) -> None:
    """Copy the results of a packing into the batch's buffers of full size, none of which is rebound: ids are followed
    by 2, slots by -1, prefix sums by their last value. Raises ValueError as `copy_into` does."""
    for name, fill in FILLS.items():
        values = getattr(results, name)
        if values is not None:
            copy_into(name, batch[name], values, fill)


def keep_lengths(last: np.ndarray, seq_lens_this_time: np.ndarray, model_steps: int) -> None:
    """Before a draft forward: with more than one model step the lengths of this substep are copied to `last`, which is
    what `eagle_get_self_hidden_states` takes after the update has overwritten them."""
    if model_steps > 1:
        copy_into("last_seq_lens_this_time", last, seq_lens_this_time, 0)


@dataclass(frozen=True)
class Packing:
    """Arrays that follow from lengths, by name: their prefix sums, the slot of each of their rows, and their number.

    With `encoder`, the name of encoder lengths, the rows are those of the output: one for a prompt chunk, else one a
    token.
    """

    lengths: str
    sums: str
    ids: str | None = None
    count: str | None = None
    encoder: str | None = None

    def packed(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Each of the arrays as it must be, by name: of the extent that it has, slots followed by -1, and sums by their
        last. Raises ValueError for arrays too short for the lengths."""
        lengths = arrays[self.lengths].ravel()
        if self.encoder is not None:
            lengths = np.where(arrays[self.encoder].ravel()[: len(lengths)] > 0, np.minimum(lengths, 1), lengths)
        sums = prefix_sum(lengths)
        wanted: list[tuple[str | None, np.ndarray, int | None]] = [
            (self.sums, sums, None),
            (self.ids, np.repeat(np.arange(len(lengths)), lengths), -1),
            (self.count, sums[-1:], 0),
        ]
        found = {}
        for name, values, fill in wanted:
            if name is not None:
                found[name] = np.empty_like(arrays[name])
                copy_into(name, found[name], values.astype(arrays[name].dtype), fill)
        return found


PACKINGS = (
    Packing("seq_lens_this_time", "cu_seqlens_q", "batch_id_per_token"),
    Packing("seq_lens_this_time", "cu_seqlens_q_output", "batch_id_per_token_output", encoder="seq_lens_encoder"),
)


def repack(batch: Mapping[str, Any], packings: Sequence[Packing] = PACKINGS) -> None:
    """Make the arrays that follow from lengths again, in place, as after a swap. Raises as `Packing.packed` does."""
    for packing in packings:
        for name, values in packing.packed(batch).items():
            batch[name][:] = values
