"""The target's buffers, the toy model that runs its tokens, what a server writes between ops, and their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opgold.harness.steps.account import LONGEST_NGRAM, Request, Share
from opgold.harness.steps.script import STOP_TOKENS, STOPS, Preempt, Script
from opgold.harness.steps.toy import END_IDS, INJECTED, LINE_BREAK, NEVER, THINK_END, VOCABULARY, choices

CHOSEN, RUNNER_UP = 1000, 500  # logits of the model's first and second choice; those of other tokens are 0
TARGET_MATCH = 2
SPARE = 2**30  # an n-gram budget that no step comes to

Call = tuple[str, dict[str, Any]]


class World:
    """State for `script.slots` slots, of which the first `batch` are in the batch. Ops get views of it, and only they
    and the server's part, written out here, change it."""

    def __init__(self, script: Script) -> None:
        slots, width, columns = script.slots, script.width, script.max_len
        self.script = script
        self.batch = 0
        self.tokens = np.full((slots, width), -1, np.int64)
        self.accepted = np.full((slots, width), -1, np.int64)
        self.accept_num = np.zeros(slots, np.int32)
        self.this, self.enc, self.dec = np.zeros((3, slots), np.int32)
        self.step, self.max_dec, self.min_dec = np.zeros((3, slots), np.int64)
        self.stop = np.ones(slots, bool)
        self.blocked, self.paused = np.zeros((2, slots), bool)
        self.prompts = np.full((slots, columns), -1, np.int64)
        self.history = np.full((slots, columns), -1, np.int64)
        self.prompt_lens = np.zeros(slots, np.int64)
        self.stops = np.full((slots, STOPS, STOP_TOKENS), -1, np.int64)
        self.stops_len = np.zeros((slots, STOPS), np.int32)
        self.think, self.reply = np.full((2, slots), -1, np.int32)
        self.limit_status, self.reasoning = np.zeros((2, slots), np.int32)
        self.seeds = np.zeros(slots, np.int64)
        self.end_ids = np.array(END_IDS, np.int64)
        self.running = np.zeros(1, bool)
        self.counted = np.zeros(slots, np.int64)
        self.packed: dict[str, np.ndarray] = {}
        self.logits = np.zeros((0, VOCABULARY), np.float32)
        self.targets = np.zeros(0, np.int64)
        self._cache = np.full((slots, columns), -1, np.int64)  # what the model has run, by position
        self._spare = 0

    # What the server writes

    def insert(self, request: Request) -> None:
        insert = request.insert
        slot, length = insert.slot, len(insert.prompt)
        self.prompts[slot, :length] = insert.prompt
        self.history[slot], self.history[slot, :length] = -1, insert.prompt
        self.prompt_lens[slot] = self.enc[slot] = self.this[slot] = length
        self.dec[slot] = self.step[slot] = self.limit_status[slot] = self.reasoning[slot] = 0
        self.max_dec[slot], self.min_dec[slot] = insert.max_dec, insert.min_dec
        self.stops[slot], self.stops_len[slot] = -1, 0
        for number, stop in enumerate(insert.stops):
            self.stops[slot, number, : len(stop)], self.stops_len[slot, number] = stop, len(stop)
        self.think[slot], self.reply[slot] = insert.think, insert.reply
        self.seeds[slot], self.stop[slot] = request.seed, False

    def preempt(self, step: Preempt) -> None:
        self.stop[step.slot] = True
        self.retire(step.slot)

    def retire(self, slot: int) -> None:
        """A slot whose request has left runs no tokens."""
        self.this[slot] = self.enc[slot] = self.dec[slot] = 0

    def draft(self, share: Share) -> None:
        """A draft model's tokens come behind the one that the update left in column 0."""
        if share.state == "decode" and self.script.method != "ngram":
            self.tokens[share.slot, 1 : share.rows] = share.drafts
            self.this[share.slot] = share.rows

    def run(self) -> None:
        """The model runs the packed tokens behind those that it has cached: logits of every output row, in every other
        step with room for one row more."""
        starts, ends = self.packed["cu_seqlens_q"], self.packed["cu_seqlens_q_output"]
        rows = min(int(ends[-1]) + self._spare, len(self.packed["batch_id_per_token_output"]))
        self.logits = np.zeros((rows, VOCABULARY), np.float32)
        for slot in range(self.batch):
            tokens = self.packed["ids_remove_padding"][starts[slot] : starts[slot + 1]]
            cached = int(self.dec[slot])
            seen = [*self._cache[slot, :cached].tolist(), *tokens.tolist()]
            self._cache[slot, cached : len(seen)] = tokens[: max(0, self._cache.shape[1] - cached)]
            count = int(ends[slot + 1] - ends[slot])
            for row in range(count):
                first, second = choices(seen[: len(seen) - count + row + 1])
                self.logits[ends[slot] + row, second] = RUNNER_UP
                self.logits[ends[slot] + row, first] = CHOSEN

    def sample(self) -> None:
        self.targets = self.logits.argmax(axis=1).astype(np.int64)

    # Calls: an op's name and its arguments but for outputs

    def match(self) -> Call:
        values = self._history() | self._lengths() | {"step_idx": self.step, "draft_tokens": self.tokens}
        values["draft_token_num"] = np.full(self.script.slots, self.script.drafts, np.int32)
        values |= {"max_dec_len": self.max_dec, "max_ngram_size": LONGEST_NGRAM, "threshold": SPARE}
        return "ngram_match", values | {"max_draft_tokens": self.script.drafts}

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

    def verify(self) -> Call:
        starts = self.packed["cu_seqlens_q_output"]
        this = self.this[: self.batch]
        if self.script.method == "naive":
            values = {"accept_tokens": self.accepted, "accept_num": self.accept_num, "seq_lens_this_time": this}
            values |= {"next_tokens": self.targets, "cu_seqlens_q_output": starts}
            return "naive_update_model_status", values
        values = {"step_output_ids": self.accepted, "step_output_len": self.accept_num, "step_input_ids": self.tokens}
        values |= {"target_tokens": self.targets, "topp": np.ones(self.script.slots, np.float32)}
        values |= {"stop_flags": self.stop, "seq_lens_encoder": self.enc, "seq_lens_this_time": this}
        values |= {"end_tokens": self.end_ids, "is_block_step": self.blocked, "cu_seqlens_q_output": starts}
        values |= {"reasoning_status": self.reasoning, "max_dec_len": self.max_dec, "step_idx": self.step}
        flags = {"verify_window": 2, "verify_strategy": TARGET_MATCH, "reject_all": False, "accept_all": False}
        return "verify_draft_tokens", values | flags | {"max_seq_len": self.script.max_len}

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
