"""The buffers of target and draft model, what their caller writes to them, and the arguments of every op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgold.harness.rounds.account import END_IDS, Request, Share
from opgold.harness.rounds.script import Block, Preempt, Resume, Script

FILLER = 50_000  # sampled tokens that nobody may take


@dataclass
class Model:
    """What both models keep of each slot: the draft's shadow state, or the target's."""

    tokens: np.ndarray
    this: np.ndarray
    enc: np.ndarray
    dec: np.ndarray
    step: np.ndarray
    stop: np.ndarray
    block: np.ndarray

    @classmethod
    def of(cls, slots: int, width: int) -> Model:
        this, enc, dec = np.zeros((3, slots), np.int32)
        tokens, step = np.full((slots, width), -1, np.int64), np.zeros(slots, np.int64)
        return cls(tokens, this, enc, dec, step, stop=np.ones(slots, bool), block=np.zeros(slots, bool))


class World:
    """State for `script.slots` slots, of which the first `batch` are in the batch. Ops get views of it, and only they
    and the caller's part, written out here, change it."""

    def __init__(self, script: Script) -> None:
        slots, width, columns = script.slots, script.model_steps + 1, script.max_len
        self.script = script
        self.batch = 0
        self.draft, self.target = Model.of(slots, width), Model.of(slots, width)
        self.input_ids = np.full((slots, columns), -1, np.int64)
        self.history = np.full((slots, columns), -1, np.int64)
        self.drop = np.zeros(slots, bool)
        self.not_need_stop = np.zeros(1, bool)
        self.rollback = np.zeros(slots, np.int32)
        self.recompute = np.full(slots, script.model_steps - 1, np.int32)
        self.mask_base = np.full(slots, -1, np.int32)
        self.mask_full = np.full((slots, columns), -1, np.int32)
        self.decode_states = np.full((slots, width), -1, np.int32)
        self.accept_tokens = np.zeros((slots, width), np.int64)
        self.accept_num = np.zeros(slots, np.int32)
        self.max_dec = np.zeros(slots, np.int64)
        self.end_ids = np.array(END_IDS, np.int64)
        self.packed: dict[str, np.ndarray] = {}
        self.ends = np.zeros(0, np.int32)
        self._kept: dict[int, tuple[int, int, np.ndarray]] = {}
        self._spare = 0

    # What the caller writes

    def insert_chunk(self, request: Request) -> None:
        """The next chunk of a prompt, or a request that comes with its prompt's keys to a decode instance."""
        insert, draft, target = request.insert, self.draft, self.target
        slot, start = insert.slot, request.cached
        rows = min(insert.chunk or insert.prompt, insert.prompt - start)
        step = insert.output if start + rows == insert.prompt else 0
        self.max_dec[slot] = insert.max_dec
        self.history[slot] = -1
        self.input_ids[slot, : rows - 1] = request.ids[start + 1 : start + rows]
        self.mask_full[slot, :rows] = np.arange(start, start + rows) + insert.delta
        self.mask_base[slot] = start + rows + insert.delta
        self.rollback[slot], self.recompute[slot] = 0, self.script.model_steps - 1
        draft.enc[slot] = target.enc[slot] = draft.this[slot] = target.this[slot] = rows
        draft.dec[slot] = target.dec[slot] = start
        draft.step[slot] = target.step[slot] = step
        target.tokens[slot] = -1
        self.reset_flags(slot)

    def insert_handed_over(self, request: Request) -> None:
        """A request whose prompt another instance ran. Its decoder offset counts the first generated token already."""
        insert, draft, target = request.insert, self.draft, self.target
        slot = insert.slot
        ahead = min(insert.recompute, max(insert.drafts - 1, 0))  # what the first preprocess will take off again
        self.max_dec[slot] = insert.max_dec
        self.history[slot] = -1
        self.mask_base[slot] = insert.prompt + insert.delta + 1
        self.rollback[slot], self.recompute[slot] = insert.rollback, insert.recompute
        draft.enc[slot] = target.enc[slot] = 0
        draft.dec[slot], target.dec[slot] = insert.prompt + ahead, insert.prompt
        draft.step[slot], target.step[slot] = 1 + ahead, 1
        draft.this[slot] = target.this[slot] = 1 + insert.drafts
        target.tokens[slot] = -1
        target.tokens[slot, : 1 + insert.drafts] = FILLER - 1
        self.reset_flags(slot)

    def reset_flags(self, slot: int) -> None:
        """A slot with a new request is neither stopped nor blocked nor dropped, in either model."""
        for model in (self.draft, self.target):
            model.stop[slot] = model.block[slot] = False
        self.drop[slot] = False

    def block(self, step: Block) -> None:
        """The target's row stops, its lengths are lost; what the next verification needs is kept."""
        target, slot = self.target, step.slot
        self._kept[slot] = (int(target.this[slot]), int(target.dec[slot]), target.tokens[slot].copy())
        target.stop[slot] = target.block[slot] = True
        target.this[slot] = target.dec[slot] = 0

    def resume(self, step: Resume) -> None:
        target, slot = self.target, step.slot
        target.this[slot], target.dec[slot], target.tokens[slot] = self._kept.pop(slot)
        target.stop[slot] = target.block[slot] = False

    def preempt(self, step: Preempt) -> None:
        for model in (self.draft, self.target):
            model.stop[step.slot], model.block[step.slot] = True, False
            for lengths in (model.this, model.enc, model.dec):
                lengths[step.slot] = 0

    def verify(self, share: Share) -> None:
        """The target's step, verification and update of status, as far as the draft sees them."""
        if share.state == "blocked":
            return
        target, slot, accepted = self.target, share.slot, len(share.accepted)
        self.accept_tokens[slot, :accepted] = share.accepted
        self.accept_num[slot] = accepted
        target.dec[slot], target.enc[slot] = share.cached, 0
        target.step[slot] = share.produced
        target.tokens[slot, 0] = share.accepted[-1]
        target.stop[slot] = share.stopped

    # Calls: an op's name and its arguments but for outputs

    def _of(self, *arrays: np.ndarray) -> list[np.ndarray]:
        return [array[: self.batch] for array in arrays]

    def _draft_state(self) -> dict[str, Any]:
        draft = self.draft
        names = ("seq_lens_this_time", "seq_lens_encoder", "seq_lens_decoder", "step_idx", "stop_flags", "pre_ids")
        rows = self._of(draft.this, draft.enc, draft.dec, draft.step, draft.stop, self.history)
        return dict(zip(names, rows, strict=True)) | {"not_need_stop": self.not_need_stop}

    def preprocess(self) -> tuple[str, dict[str, Any]]:
        draft, target, script = self.draft, self.target, self.script
        values = self._draft_state()
        values["draft_tokens"], values["input_ids"] = self._of(draft.tokens, self.input_ids)
        values["accept_tokens"], values["accept_num"] = self._of(self.accept_tokens, self.accept_num)
        values["num_model_step"] = script.model_steps
        prefill = script.instance == "prefill"
        base = "base_model" if script.stateful else "target_model"
        names = [
            f"{base}_{n}" for n in ("seq_lens_encoder", "seq_lens_decoder", "step_idx", "stop_flags", "draft_tokens")
        ]
        values |= zip(names, self._of(target.enc, target.dec, target.step, target.stop, target.tokens), strict=True)
        if not script.stateful:
            values["max_dec_len"] = self.max_dec[: self.batch]
            values["is_splitwise_prefill"] = prefill
            return "draft_model_preprocess_shadow", values
        flags = ("is_block_step", "batch_drop", "base_model_is_block_step", "base_model_seq_lens_this_time")
        values |= zip(flags, self._of(draft.block, self.drop, target.block, target.this), strict=True)
        values["mask_rollback"], values["recompute_token_num"] = self._of(self.rollback, self.recompute)
        values |= {"truncate_first_token": True, "splitwise_prefill": prefill}
        values["kvcache_scheduler_v1"] = script.scheduler == "v1"
        return "draft_model_preprocess", values

    def pack(self) -> tuple[str, dict[str, Any]]:
        """The draft's batch without padding; every other call has room for more tokens than there are."""
        draft = self.draft
        names = ("input_ids", "seq_len", "draft_tokens", "seq_lens_encoder", "seq_lens_decoder")
        rows = self._of(self.input_ids, draft.this, draft.tokens, draft.enc, draft.dec)
        self._spare ^= 1
        tokens = int(draft.this[: self.batch].sum()) + self._spare * (self.batch + 1)
        return "speculate_pre_process", dict(zip(names, rows, strict=True)) | {"cpu_token_num": tokens}

    def mask(self) -> tuple[str, dict[str, Any]]:
        draft = self.draft
        names = ("seq_lens_this_time", "seq_lens_encoder", "seq_lens_decoder", "is_block_step")
        values = dict(zip(names, self._of(draft.this, draft.enc, draft.dec, draft.block), strict=True))
        values |= {"ids_remove_padding": self.packed["ids_remove_padding"], "cu_seqlens_q": self.packed["cu_seqlens_q"]}
        values["attn_mask_offsets_full"], values["decode_states"] = self._of(self.mask_full, self.decode_states)
        if not self.script.stateful:
            return "update_attn_mask_offsets_stateless", values
        values["attn_mask_offsets_decoder"], values["mask_rollback"] = self._of(self.mask_base, self.rollback)
        return "update_attn_mask_offsets", values

    def update(self, shares: dict[int, Share], substep: int) -> tuple[str, dict[str, Any]]:
        values = self._draft_state()
        values["draft_tokens"], values["base_model_draft_tokens"] = self._of(self.draft.tokens, self.target.tokens)
        values["cu_seqlens_q_output"] = self.packed["cu_seqlens_q_output"]
        values |= {"max_dec_len": self.max_dec[: self.batch], "end_ids": self.end_ids}
        values |= {"max_seq_len": self.script.max_len, "substep": substep}
        values["inter_next_tokens"] = self._sampled(shares, substep)
        if self.script.stateful:
            values["prefill_one_step_stop"] = self.script.instance == "prefill"
            return "draft_model_update", values
        return "draft_model_update_packed", values

    def _sampled(self, shares: dict[int, Share], substep: int) -> np.ndarray:
        """One token for each output row, the last of a slot's being its draft; or, packed, one for each slot that
        runs."""
        if self.script.stateful:
            ends = self.packed["cu_seqlens_q_output"]
            tokens = np.arange(FILLER, FILLER + int(ends[-1]), dtype=np.int64)
            last = {slot: int(ends[slot + 1]) - 1 for slot in shares}
        else:
            running = np.flatnonzero(self.draft.this[: self.batch] > 0)
            tokens = np.arange(FILLER, FILLER + len(running), dtype=np.int64)
            last = {int(slot): place for place, slot in enumerate(running)}
        for slot, place in last.items():
            share = shares.get(slot)
            if share is not None and share.live and self.draft.this[slot] > 0 and 0 <= place < len(tokens):
                tokens[place] = share.sampled[substep]
        return tokens

    def postprocess(self) -> tuple[str, dict[str, Any]]:
        target = self.target
        names = ("draft_tokens", "seq_lens_this_time", "seq_lens_encoder", "stop_flags")
        rows = self._of(target.tokens, target.this, target.enc, target.stop)
        return "draft_model_postprocess", {f"base_model_{n}": a for n, a in zip(names, rows, strict=True)}


MakeWorld = Callable[[Script], World]
