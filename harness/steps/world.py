"""The arguments of every call of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opgold.harness.steps.buffers import BLOCK_SIZE, Buffers
from opgold.harness.steps.request import LONGEST_NGRAM, SHORTEST_HYBRID
from opgold.harness.steps.script import VERIFICATIONS, Script
from opgold.harness.steps.toy import INJECTED, LINE_BREAK, NEVER, THINK_END, VOCABULARY, probabilities

SPARE = 2**30  # an n-gram budget that no step comes to

Call = tuple[str, dict[str, Any]]


class World(Buffers):
    """The target's state, and calls of its ops: an op's name and its arguments but for outputs."""

    def match(self) -> Call:
        values = self._history() | self._lengths() | {"step_idx": self.step, "draft_tokens": self.tokens}
        values["draft_token_num"] = np.full(self.script.slots, self.script.drafts, np.int32)
        values |= {"max_dec_len": self.max_dec, "max_ngram_size": LONGEST_NGRAM, "threshold": SPARE}
        values["max_draft_tokens"] = self.script.drafts
        if self.script.method == "ngram":
            return "ngram_match", values
        for name in ("token_ids_all", "prompt_lens", "seq_lens_encoder"):
            del values[name]
        values |= {"input_ids": self.history, "input_ids_len": self.prompt_lens, "pre_ids": self.emitted}
        return "hybrid_mtp_ngram", values | {"min_ngram_size": SHORTEST_HYBRID}

    def pack(self) -> Call:
        """Every other call has room for more tokens than there are."""
        n = self.batch
        self._spare ^= 1
        tokens = int(self.this[:n].sum()) + self._spare * (n + 1)
        values = {"input_ids": self.prompts[:n], "seq_len": self.this[:n], "draft_tokens": self.tokens[:n]}
        values |= {"seq_lens_encoder": self.enc[:n], "seq_lens_decoder": self.dec[:n]}
        return "speculate_pre_process", values | {"cpu_token_num": tokens}

    def seed(self) -> Call:
        """Once a step, whatever the method: nobody else advances the seeds."""
        slots, starts = self.script.slots, self.packed["cu_seqlens_q_output"]
        values: dict[str, Any] = {"top_p": np.linspace(0.5, 1, slots, dtype=np.float32)}
        values |= {"top_k": np.arange(slots, dtype=np.int64), "infer_seed": self.seeds}
        values |= {"seq_lens_this_time": self.this[: self.batch], "cu_seqlens_q_output": starts}
        values |= {"token_num_output_cpu": int(starts[-1]) + self._spare, "increment_value": self.script.advance}
        return "build_sampling_params", values | {"max_infer_seed": self.script.max_infer_seed}

    def penalty(self) -> Call:
        """Each occurrence takes 1 off a token's logit, so that the logits tell what was read."""
        slots = self.script.slots
        ones, zeros = np.ones(slots, np.float32), np.zeros(slots, np.int64)
        values = self._history() | self._rows() | {"cur_len": self.step, "min_len": self.min_dec}
        values |= {"penalty_scores": ones, "frequency_scores": ones, "presence_scores": ones - 1, "temperatures": ones}
        values |= {"bad_tokens": np.full((slots, 1), -1, np.int64), "bad_tokens_len": zeros}
        values |= {"eos_token_id": self.end_ids, "max_seq_len": self.script.max_len}
        return "speculate_get_token_penalty_multi_scores", values

    def reason(self) -> Call:
        values = self._history() | self._rows() | {"stop_flags": self.stop, "seq_lens_encoder": self.enc}
        values |= {"step_idx": self.step, "reasoning_status": self.reasoning}
        values["enable_thinking"] = np.ones(self.script.slots, bool)
        values["allowed_tokens"] = np.array([token for token in range(VOCABULARY) if token != NEVER], np.int64)
        values |= {"think_end_id": THINK_END, "line_break_id": LINE_BREAK}
        return "reasoning_phase_token_constraint", values

    def candidates(self) -> Call:
        values = {"probs": probabilities(self.logits), "top_p": self.top_p, "max_seq_len": self.script.max_len}
        values["batch_id_per_token_output"] = self.packed["batch_id_per_token_output"]
        return "top_p_candidates", values | {"candidates_len": self.script.candidates}

    def verify(self) -> Call:
        starts = self.packed["cu_seqlens_q_output"]
        this = self.this[: self.batch]
        if self.script.method == "naive":
            values = {"accept_tokens": self.accepted, "accept_num": self.accept_num, "seq_lens_this_time": this}
            values |= {"next_tokens": self.targets, "cu_seqlens_q_output": starts}
            return "naive_update_model_status", values
        values = {"step_output_ids": self.accepted, "step_output_len": self.accept_num, "step_input_ids": self.tokens}
        if self.script.verify == "top_p":
            names = ("candidate_ids", "candidate_scores", "candidate_lens")
            outputs = ("verify_tokens", "verify_scores", "actual_candidate_lens")
            values |= {name: self.listed[output] for name, output in zip(names, outputs, strict=True)}
            values["uniforms"] = self.uniforms[: self.batch]
        else:
            values["target_tokens"] = self.targets
        values["topp"] = self.top_p
        values |= {"stop_flags": self.stop, "seq_lens_encoder": self.enc, "seq_lens_this_time": this}
        values |= {"end_tokens": self.end_ids, "is_block_step": self.blocked, "cu_seqlens_q_output": starts}
        values |= {"reasoning_status": self.reasoning, "max_dec_len": self.max_dec, "step_idx": self.step}
        strategy = VERIFICATIONS.index(self.script.verify)
        values |= {"verify_window": self.script.window, "verify_strategy": strategy, "max_seq_len": self.script.max_len}
        return "verify_draft_tokens", values | {"reject_all": False, "accept_all": False}

    def cut(self) -> Call:
        values = self._history() | {"accept_tokens": self.accepted, "accept_num": self.accept_num}
        values |= {"step_idx": self.step, "stop_flags": self.stop, "seq_lens": self.dec}
        values |= {"stop_seqs": self.stops, "stop_seqs_len": self.stops_len, "end_ids": self.end_ids}
        values["min_tokens"] = np.zeros(self.script.slots, np.int64)
        return "speculate_set_stop_value_multi_seqs", values

    def limit(self) -> Call:
        """The limit's step has counted the step's tokens, that of the ops around it has not: it gets a count of its
        own, and what it takes off is not lost, for the update adds what is left."""
        self.counted = self.step + self.accept_num
        values = {"next_tokens": self.accepted, "max_think_lens": self.think, "max_reply_lens": self.reply}
        values |= {"step_idx": self.counted, "limit_status": self.limit_status, "accept_num": self.accept_num}
        values |= {"stop_flags": self.stop, "eos_token_ids": self.end_ids, "think_end_id": THINK_END}
        values |= {"inject_token_ids": np.array(INJECTED, np.int64), "splitwise_role_is_decode": False}
        return "speculate_limit_thinking_content_length", values | {"hit_at_limit": self.script.hit_at_limit}

    def update(self) -> Call:
        values = self._history() | self._lengths() | {"has_running_seqs": self.running, "step_idx": self.step}
        values |= {"step_input_ids": self.tokens, "step_output_ids": self.accepted, "step_output_len": self.accept_num}
        values |= {"stop_flags": self.stop, "is_paused": self.paused, "end_tokens": self.end_ids}
        return "unified_update_model_status", values | {"max_dec_len": self.max_dec}

    def legacy_update(self) -> Call:
        values = self._lengths() | {"not_need_stop": self.not_need_stop, "draft_tokens": self.tokens}
        values |= {"accept_tokens": self.accepted, "accept_num": self.accept_num, "stop_flags": self.stop}
        values |= {"is_block_step": self.blocked, "stop_nums": np.array([self.script.slots])}
        return "speculate_update", values | {
            "actual_draft_token_nums": self.draft_nums,
            "mask_rollback": self.rollback,
        }

    def write(self) -> Call:
        """History, behind the older update. The op clears counts and lengths of stopped slots, also of those whose last
        tokens nobody has read yet: it gets some of its own."""
        self.written_num[:], self.written_dec[:] = self.accept_num, self.dec
        values = self._history() | self._lengths() | {"step_idx": self.step, "stop_flags": self.stop}
        values |= {"accept_tokens": self.accepted, "accept_num": self.written_num, "seq_lens_decoder": self.written_dec}
        return "speculate_set_value_by_flags_and_idx", values

    def write_emitted(self) -> Call:
        """History without prompts."""
        op, values = self.write()
        return op, values | {"token_ids_all": self.emitted, "prompt_lens": np.zeros_like(self.prompt_lens)}

    def schedule(self) -> Call:
        """Stops prompts that go on and, for lack of a cache block, decoding slots."""
        values = self._lengths() | self._blocks() | {"draft_tokens": self.tokens, "prompt_lens": self.prompt_lens}
        values |= {"step_draft_tokens": self.kept_tokens, "step_seq_lens_this_time": self.kept_this}
        values |= {"accept_num": self.accept_num, "accept_tokens": self.accepted, "not_need_stop": self.not_need_stop}
        return "speculate_schedule_cache", values | {"stop_nums": np.array([self.script.slots])}

    def recover(self) -> Call:
        return "recover_decode_task", self._lengths() | self._blocks()

    def _blocks(self) -> dict[str, Any]:
        values = {"stop_flags": self.stop, "is_block_step": self.blocked, "step_seq_lens_decoder": self.kept_dec}
        attributes = {"block_size": BLOCK_SIZE, "max_draft_tokens": self.script.drafts}
        return values | {"block_tables": self.tables} | attributes

    def _history(self) -> dict[str, Any]:
        layout = self.script.layout
        return {"token_ids_all": self.history, "prompt_lens": self.prompt_lens, "history_layout": layout}

    def _lengths(self) -> dict[str, Any]:
        lengths = {"seq_lens_encoder": self.enc, "seq_lens_decoder": self.dec}
        return lengths | {"seq_lens_this_time": self.this[: self.batch]}

    def _rows(self) -> dict[str, Any]:
        names = ("batch_id_per_token_output", "cu_seqlens_q_output")
        return {"logits": self.logits, "seq_lens_this_time": self.this[: self.batch]} | {
            name: self.packed[name] for name in names
        }


MakeWorld = Callable[[Script], World]
