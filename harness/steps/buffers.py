"""The target's buffers, the toy model that runs its tokens, and what a server writes between ops."""

from __future__ import annotations

import numpy as np

from opgold.harness.steps.account import Share
from opgold.harness.steps.request import Request
from opgold.harness.steps.script import STOP_TOKENS, STOPS, Block, Preempt, Resume, Script
from opgold.harness.steps.toy import END_IDS, VOCABULARY, choices

CHOSEN, RUNNER_UP = 1000, 500  # logits of the model's first and second choice; those of other tokens are 0
BLOCK_SIZE = 2  # tokens of a cache block: what a slot looks ahead for is never in the block that it runs in


class Buffers:
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
        self.emitted = np.full((slots, columns), -1, np.int64)  # history again, without prompts, for the hybrid
        self.written_num, self.written_dec = np.zeros((2, slots), np.int32)
        self.prompt_lens = np.zeros(slots, np.int64)
        self.stops = np.full((slots, STOPS, STOP_TOKENS), -1, np.int64)
        self.stops_len = np.zeros((slots, STOPS), np.int32)
        self.think, self.reply = np.full((2, slots), -1, np.int32)
        self.limit_status, self.reasoning = np.zeros((2, slots), np.int32)
        self.seeds = np.zeros(slots, np.int64)
        self.rollback, self.draft_nums = np.zeros((2, slots), np.int32)  # as the older update leaves them
        self.draft_nums[:] = script.drafts
        self.top_p, self.uniforms = np.zeros((2, slots), np.float32)
        self.end_ids = np.array(END_IDS, np.int64)
        self.running, self.not_need_stop = np.zeros((2, 1), bool)
        # what a blocked slot had, and the cache blocks of each slot
        self.kept_dec, self.kept_this = np.zeros((2, slots), np.int32)
        self.kept_tokens = np.full((slots, width), -1, np.int64)
        self.tables = np.zeros((slots, self.look_ahead(columns) + 1), np.int32)
        self.counted = np.zeros(slots, np.int64)
        self.packed: dict[str, np.ndarray] = {}
        self.logits = np.zeros((0, VOCABULARY), np.float32)
        self.targets = np.zeros(0, np.int64)
        self.listed: dict[str, np.ndarray] = {}  # candidates of the output rows
        self._cache = np.full((slots, columns), -1, np.int64)  # what the model has run, by position
        self._spare = 0

    # What the server writes

    def insert(self, request: Request) -> None:
        """All but the prompt's chunks, which enter with their steps."""
        insert = request.insert
        slot, length = insert.slot, len(insert.prompt)
        self.history[slot], self.history[slot, :length] = -1, insert.prompt
        self.emitted[slot] = -1
        self.prompt_lens[slot], self.reasoning[slot] = length, 0
        self.max_dec[slot], self.min_dec[slot] = insert.max_dec, insert.min_dec
        self.stops[slot], self.stops_len[slot] = -1, 0
        for number, stop in enumerate(insert.stops):
            self.stops[slot, number, : len(stop)], self.stops_len[slot, number] = stop, len(stop)
        self.seeds[slot], self.top_p[slot] = request.seed, insert.top_p
        self.grant(slot)

    def chunk(self, share: Share) -> None:
        """A chunk of a prompt enters. Whatever was emitted behind the chunk before is taken back: the step, an end, and
        what the limits have counted."""
        slot, count, insert = share.slot, len(share.inputs), share.request.insert
        self.prompts[slot, :count] = share.inputs
        self.enc[slot] = self.this[slot] = count
        self.dec[slot] = share.cached
        self.step[slot] = self.limit_status[slot] = 0
        self.think[slot], self.reply[slot] = insert.think, insert.reply
        self.stop[slot] = self.blocked[slot] = False

    def take_back(self, share: Share) -> None:
        """An end sampled before a prompt's end has stopped the slot, and the scheduler leaves stopped slots alone."""
        if share.state == "chunk" and self.stop[share.slot]:
            self.accept_num[share.slot] = 0
            self.retire(share.slot)

    def finish(self) -> None:
        """The older update counts no tokens and stops no slot: that is done before it, as verification once did."""
        self.step[:] = self.counted
        for slot in np.flatnonzero(~self.stop & (self.accept_num > 0)):
            last = self.accepted[slot, self.accept_num[slot] - 1 :]
            if self.step[slot] >= self.max_dec[slot] and last[0] not in END_IDS:
                last[0] = END_IDS[0]
            self.stop[slot] = last[0] in END_IDS

    def preempt(self, step: Preempt) -> None:
        self.stop[step.slot], self.blocked[step.slot] = True, False
        self.retire(step.slot)

    def retire(self, slot: int) -> None:
        """A slot whose request has left runs no tokens."""
        self.this[slot] = self.enc[slot] = self.dec[slot] = 0

    def block(self, step: Block) -> None:
        """No cache blocks from the slot's look-ahead on."""
        cached = self.kept_dec if self.blocked[step.slot] else self.dec
        self.tables[step.slot, self.look_ahead(int(cached[step.slot])) :] = -1

    def resume(self, step: Resume) -> None:
        self.grant(step.slot)

    def grant(self, slot: int) -> None:
        """Cache blocks for all that the slot may run."""
        columns = self.tables.shape[1]
        self.tables[slot] = np.arange(slot * columns, (slot + 1) * columns)

    def look_ahead(self, cached: int) -> int:
        """The block that two rounds of drafts behind `cached` tokens may come to."""
        return (cached + 2 * self.script.drafts + 2) // BLOCK_SIZE

    def draft(self, share: Share) -> None:
        """A draft model's tokens come behind the one that the update left in column 0."""
        self.uniforms[share.slot] = share.turn.uniform
        if share.state == "decode" and self.script.method != "ngram":
            self.tokens[share.slot, 1 : 1 + share.modelled] = share.drafts[: share.modelled]
            self.this[share.slot] = 1 + share.modelled

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
