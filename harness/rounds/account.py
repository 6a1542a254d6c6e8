"""Each slot's true positions, from what a round *means*. It knows nothing of the ops, and every check is held to it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from opgold.harness.rounds.script import Block, Insert, Preempt, Resume, Round, Script, ScriptError, Step, Turn, kind

END_IDS = (1, 7)  # the first is what a length limit puts in; the draft samples the second
FIRST_TOKEN = 100  # every token of a sequence is a new number, so that a wrong one shows


@dataclass
class Request:
    """`cached` tokens are in the target's cache after verification, `produced` have been decided, and the target's
    next step verifies `drafts` of them in advance."""

    insert: Insert
    ids: list[int]  # of the prompt
    cached: int = 0
    produced: int = 0
    drafts: int = 0
    blocked: bool = False
    dropped: bool = False  # no drafts any more: blocked in a round of scheduler V0


@dataclass
class Share:
    """What one slot does in one round, and what must come of it. Positions are absolute, counted from the prompt's
    first token; `runs[s]` are those that the draft runs at substep s, `inputs[s]` the tokens that it runs there."""

    slot: int
    state: str  # "prompt", "decode", "blocked" or "dropped"
    insert: Insert
    cached: int
    produced: int
    accepted: list[int] = field(default_factory=list)
    stopped: bool = False
    live: bool = False
    start: int = 0
    runs: list[range] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)
    drafted: list[int | None] = field(default_factory=list)
    going_on: list[bool] = field(default_factory=list)  # whether the draft runs on after substep s
    ends: tuple[tuple[int, ...], ...] | None = None

    @property
    def rows(self) -> int:
        return len(self.runs[0]) if self.runs else 0

    @property
    def drafts(self) -> int:
        return sum(token is not None for token in self.drafted)

    def position(self, substep: int) -> int:
        """Tokens that the draft has cached before a substep."""
        return self.runs[substep].start

    def mask_ends(self, substep: int) -> list[int]:
        """How far each of the substep's tokens must see: itself included, and the ends' lead over positions."""
        return [position + 1 + self.insert.delta for position in self.runs[substep]]

    def __str__(self) -> str:
        return f"slot {self.slot} ({self.state}{', stopped' if self.stopped else ''})"


class Account:
    """The requests in their slots. Raises ScriptError for a step that no server could take."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: dict[int, Request] = {}
        self.tokens: Iterator[int] = itertools.count(FIRST_TOKEN)

    @classmethod
    def rehearse(cls, script: Script) -> None:
        """Raise ScriptError, naming the step, if the script cannot be played."""
        account = cls(script)
        for number, step in enumerate(script.steps, 1):
            try:
                account.take(step)
            except ScriptError as error:
                raise ScriptError(f"step {number} ({kind(step)}): {error}") from error

    def take(self, step: Step) -> dict[int, Share]:
        """Enter a step; what a round does is returned by slot."""
        if isinstance(step, Round):
            return self.round(step.turns)
        if isinstance(step, Insert):
            self.insert(step)
        elif isinstance(step, Preempt):
            del self.requests[self._taken(step.slot)]
        else:
            self._block(step)
        return {}

    def _taken(self, slot: int) -> int:
        if slot not in self.requests:
            raise ScriptError(f"slot {slot} holds no request")
        return slot

    def insert(self, step: Insert) -> None:
        script, decode = self.script, self.script.instance == "decode"
        if not 0 <= step.slot < script.slots:
            raise ScriptError(f"slot {step.slot}, expected one of {script.slots}")
        if step.slot in self.requests:
            raise ScriptError(f"slot {step.slot} is taken")
        chunk = step.chunk or step.prompt
        if not 1 <= chunk <= min(step.prompt, script.max_len):
            raise ScriptError(f"chunk {chunk} of a prompt of {step.prompt}, expected 1 to {script.max_len} tokens")
        if not 0 <= step.output < step.prompt or (step.output and decode):
            raise ScriptError(f"output {step.output}, expected a part of the prompt, on no decode instance")
        if not step.output + 1 + decode <= step.max_dec <= script.max_len - script.model_steps - 2:
            room = script.max_len - script.model_steps - 2
            raise ScriptError(f"max_dec {step.max_dec}, expected {step.output + 1 + decode} to {room}")
        if step.delta < 0 or (step.delta and not script.stateful):
            raise ScriptError(f"delta {step.delta}, expected at least 0, and 0 in the stateless form")
        handed = (step.drafts, step.rollback, step.recompute)
        if not decode and handed != (1, 1, 0):
            raise ScriptError("drafts, rollback and recompute are for a decode instance")
        if not 0 <= step.drafts <= script.model_steps or step.recompute < 0:
            raise ScriptError(f"drafts {step.drafts} or recompute {step.recompute}, expected 0 to {script.model_steps}")
        ids = [next(self.tokens) for _ in range(step.prompt)]
        request = self.requests[step.slot] = Request(step, ids)
        if decode:
            request.cached, request.produced, request.drafts = step.prompt, 1, step.drafts

    def _block(self, step: Block | Resume) -> None:
        request = self.requests[self._taken(step.slot)]
        if request.blocked == isinstance(step, Block):
            raise ScriptError(f"slot {step.slot} is {'already' if request.blocked else 'not'} blocked")
        if request.cached < request.insert.prompt:
            raise ScriptError(f"slot {step.slot} has not run its prompt")
        request.blocked = not request.blocked

    def round(self, turns: Mapping[int, Turn]) -> dict[int, Share]:
        for slot, turn in turns.items():
            self._check(self.requests[self._taken(slot)], turn)
        shares = {slot: self._share(slot, turns.get(slot, Turn())) for slot in sorted(self.requests)}
        for slot, share in shares.items():
            handed_over = self.script.instance == "prefill" and share.cached == share.insert.prompt
            if share.stopped or handed_over:
                del self.requests[slot]
        return shares

    def _check(self, request: Request, turn: Turn) -> None:
        slot, substeps = request.insert.slot, self.script.model_steps
        window = 1 if request.cached < request.insert.prompt else 1 + request.drafts
        if not 1 <= turn.accept <= window:
            raise ScriptError(f"slot {slot} accepts {turn.accept}, expected 1 to {window}, the tokens that it runs")
        if turn.end is not None and not 0 <= turn.end < substeps:
            raise ScriptError(f"slot {slot} ends at substep {turn.end}, expected 0 to {substeps - 1}")
        if turn.ends is not None and len(turn.ends) != substeps:
            raise ScriptError(f"slot {slot} has ends for {len(turn.ends)} substeps, expected {substeps}")

    def _share(self, slot: int, turn: Turn) -> Share:
        """One slot's round: verification, then the draft."""
        request = self.requests[slot]
        insert, script = request.insert, self.script
        if request.blocked:
            request.dropped |= script.scheduler == "v0"
            return Share(slot, "blocked", insert, request.cached, request.produced)
        share = Share(slot, "dropped" if request.dropped else "decode", insert, 0, 0, start=request.cached)
        share.ends = turn.ends
        if request.cached < insert.prompt:
            share.state = "prompt"
            chunk = min(insert.chunk or insert.prompt, insert.prompt - request.cached)
            request.cached += chunk
            whole = request.cached == insert.prompt
            request.produced = insert.output + 1 if whole else 1  # what it samples before its prompt's end is void
            rows, accepted = chunk, 1
        else:
            whole = True
            rows = accepted = min(turn.accept, insert.max_dec - request.produced)
            request.cached += accepted
            request.produced += accepted
        share.stopped = whole and (turn.stop or request.produced >= insert.max_dec)
        share.accepted = [next(self.tokens) for _ in range(accepted)]
        if share.stopped:
            share.accepted[-1] = END_IDS[0]
        share.cached, share.produced = request.cached, request.produced
        first = share.accepted
        if share.state == "prompt":
            first = request.ids[share.start + 1 : share.start + rows] + share.accepted
        share.live = self._drafts(share)
        if share.live:
            self._draft(share, rows, first, turn.end)
        request.drafts = share.drafts
        return share

    def _drafts(self, share: Share) -> bool:
        """Whether the draft runs at all. The stateless form asks for room for a whole round; a prefill instance of the
        stateful form drafts for a request even if its first token ends it."""
        prefill = self.script.instance == "prefill"
        if self.script.stateful:
            return share.state != "dropped" and (prefill or not share.stopped)
        room = share.produced + self.script.model_steps < share.insert.max_dec
        return not share.stopped and (prefill or room)

    def _draft(self, share: Share, rows: int, first: list[int], end: int | None) -> None:
        """The draft runs `rows` tokens that the target has cached, then feeds itself one token a substep."""
        stateful, prefill = self.script.stateful, self.script.instance == "prefill"
        position, running, fed = share.cached - rows, rows, first
        for substep in range(self.script.model_steps):
            token = END_IDS[1] if substep == end else next(self.tokens)
            share.sampled.append(token)
            share.runs.append(range(position, position + running))
            share.inputs.append(fed[:running])
            full = share.produced + substep >= share.insert.max_dec
            if not running or (full and not stateful):  # stopped; or held: the same token again, and no draft
                share.drafted.append(None)
            else:
                position += running
                share.drafted.append(END_IDS[0] if full and substep != end and not prefill else token)
                fed = [token]
            running = int(running > 0 and not (stateful and (full or substep == end or prefill)))
            share.going_on.append(running > 0)
