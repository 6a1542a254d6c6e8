"""Which entries of a batch belong to which group: what moves with a slot, what follows from it, what stays.

A batch is a mapping from names to arrays, lists and the slot map. Source: the Python glue, sections 2.1 and 2.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Batch = MutableMapping[str, Any]


@dataclass(frozen=True)
class Groups:
    """Names by group; a name that a batch lacks is passed over, one in no group is global.

    `carried`: arrays [slots, ...] and lists whose entry i belongs to slot i. `derived`: packed by token, and prefix
    sums. `mirrors`: host copies of carried rows, made each step. `slot_numbers`: lists of slot numbers, and the names
    of their counts. `views`: names of the first rows of a carried array, and its name. `slot_map`: the name of the
    mapping from slot to request.
    """

    carried: frozenset[str]
    derived: frozenset[str] = frozenset()
    mirrors: frozenset[str] = frozenset()
    slot_numbers: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    slot_map: str = "index_to_batch_id"


@dataclass(frozen=True)
class Side:
    """A batch with its groups: the target's, or the proposer's."""

    batch: Batch
    groups: Groups

    @property
    def slot_map(self) -> dict[int, Any]:
        """From slot to request; raises ValueError if the batch has none."""
        found: dict[int, Any] | None = self.batch.get(self.groups.slot_map)
        if found is None:
            raise ValueError(f"{self.groups.slot_map}: is not there, expected the map from slot to request")
        return found

    def carried(self) -> Iterator[tuple[str, Any]]:
        """Name and value of every carried array and list."""
        for name in sorted(self.groups.carried):
            if self.batch.get(name) is not None:
                yield name, self.batch[name]


_SUMS = "cu_seqlens_q cu_seqlens_k cu_seqlens_q_output cu_batch_token_offset"
_PACKED = "ids_remove_padding batch_id_per_token batch_id_per_token_output draft_logits"
_SHARED = """
    prompt_lens top_p top_k temperature penalty_score frequency_score presence_score infer_seed max_dec_len min_dec_len
    bad_tokens bad_tokens_len accept_num accept_tokens
"""
_LENGTHS = "seq_lens_this_time_buffer seq_lens_encoder seq_lens_decoder encoder_block_lens"
_MASK = "decode_states attn_mask_offsets_full attn_mask_offsets_decoder"

TARGET = Groups(
    carried=frozenset(
        f"""
        {_SHARED} {_LENGTHS} {_MASK} token_ids_all input_ids stop_seqs stop_seqs_len step_idx next_tokens
        sampled_token_ids first_token_ids used_list_len generated_modality step_seq_lens_encoder step_seq_lens_decoder
        step_seq_lens_this_time ori_seq_lens_encoder system_lens system_ids limit_think_status reasoning_status
        mask_rollback preempted_idx last_preempted_idx max_think_lens max_reply_lens block_tables min_p stop_flags
        enable_thinking is_block_step is_chunk_step draft_tokens actual_draft_token_num step_draft_tokens
        input_ids_cpu top_k_list min_p_list req_ids entropy_list logits_processors_args image_features_list
        forward_batch_reqs_list
        """.split()
    ),
    derived=frozenset(f"{_SUMS} {_PACKED} attn_mask_offsets".split()),
    mirrors=frozenset(
        """
        seq_lens_this_time_cpu is_block_step_cpu seq_lens_decoder_cpu prompt_lens_cpu accept_tokens_cpu accept_num_cpu
        """.split()  # noqa: SIM905  (a list of one name a line is no easier to read)
    ),
    slot_numbers={
        "step_block_list": "step_lens",
        "recover_block_list": "recover_lens",
        "need_block_list": "need_block_len",
    },
    views={"seq_lens_this_time": "seq_lens_this_time_buffer"},
)

PROPOSER = Groups(
    carried=frozenset(
        f"""
        {_SHARED} {_LENGTHS} {_MASK} block_tables input_ids step_idx stop_flags token_ids_all pre_ids draft_tokens
        is_block_step batch_drop used_list_len input_ids_len mask_rollback recompute_token_num
        last_seq_lens_this_time first_token_hidden_states base_model_draft_tokens
        """.split()
    ),
    derived=frozenset(
        f"""
        {_SUMS} {_PACKED} attn_mask_offsets target_hidden_states batch_token_num next_token_num cu_next_token_offset
        """.split()
    ),
    views=TARGET.views,
)
