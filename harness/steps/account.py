"""What each slot must emit: plain decoding, a token at a time. It knows nothing of the ops; steps are held to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from opgold.harness.steps.script import (
    STOP_TOKENS,
    STOPS,
    AnyStep,
    Insert,
    Preempt,
    Script,
    ScriptError,
    Step,
    Turn,
    kind,
)
from opgold.harness.steps.toy import END_IDS, INJECTED, THINK_END, VOCABULARY, choices

LONGEST_NGRAM = 3
FREE, BOUNDARY, FIRST_ANSWER, ANSWERED = range(4)  # how far a request's reasoning has come


@dataclass
class Request:
    """A request, decoded a token at a time."""

    insert: Insert
    hit_at_limit: bool
    seed: int
    emitted: list[int] = field(default_factory=list)
    last_seeds: list[int] = field(default_factory=list)  # of the step before
    reasoning: int = FREE
    ended: bool = False
    thinking: bool = True
    injected: int = -1  # items put in so far; below 0: none is due
    replied: int = 0
    reply: int = field(init=False)

    def __post_init__(self) -> None:
        self.reply = self.insert.reply

    def says(self, drafts: Iterable[int] = ()) -> int:
        """The model's next token behind what was emitted and `drafts`."""
        ahead = list(drafts)
        first, second = choices([*self.insert.prompt, *self.emitted, *ahead])
        early = len(self.emitted) + len(ahead) < self.insert.min_dec
        return second if early and first in END_IDS else first

    def stops_behind(self, ahead: list[int]) -> bool:
        """Whether what was emitted, with `ahead` behind it, ends with a stop sequence."""
        text = [*self.emitted, *ahead]
        return any(tuple(text[-len(stop) :]) == stop for stop in self.insert.stops)

    def emit(self) -> bool:
        """Decode one token, and tell whether nothing can follow it in the same step: it is not the model's own, or the
        last."""
        token = END_IDS[0] if self.stops_behind([]) else self.says()
        replaced = token != self.says()
        limited = self._limit(token)
        if limited is not None:
            token, replaced = limited, True
        if len(self.emitted) + 1 >= self.insert.max_dec and token not in END_IDS:
            token = END_IDS[0]
        self.emitted.append(token)
        self.ended = token in END_IDS
        return replaced or self.ended

    def _limit(self, token: int) -> int | None:
        """What a limit of thinking or reply puts in place of `token`, if one does."""
        think = self.insert.think
        if think < 0 and self.reply < 0:
            return None
        began_thinking = self.thinking
        if self.thinking and self.injected < 0:
            if token == THINK_END:
                self.thinking = False
                self.reply += 2 * (self.reply >= 0)
            elif think == 0 or (think > 0 and (self._full() or token in END_IDS)):
                self.injected = 0
        if self.thinking and self.injected >= 0 and think >= 0:
            item = INJECTED[self.injected]
            self.injected += 1
            self.thinking = self.injected < len(INJECTED)
            return item
        if not began_thinking and self.reply >= 0:
            if self.replied >= self.reply:
                return END_IDS[0]
            self.replied += 1
        return None

    def _full(self) -> bool:
        """Whether the next token is the one at which the limit of thinking strikes."""
        return len(self.emitted) + self.hit_at_limit == self.insert.think

    def reason(self) -> None:
        """Reasoning goes on at a step's start, by the last four tokens."""
        tail = self.emitted[-4:]
        if self.reasoning == FREE and THINK_END in tail:
            self.reasoning = BOUNDARY
        elif self.reasoning != BOUNDARY:
            self.reasoning = ANSWERED if self.reasoning == FIRST_ANSWER else self.reasoning
            return
        if tail == list(INJECTED):
            self.reasoning = FIRST_ANSWER
        elif THINK_END not in tail:
            self.reasoning = ANSWERED

    def found(self, wanted: int, layout: int) -> list[int]:
        """Drafts from the request's own text: what followed the leftmost place of its longest end that was there."""
        text = self.emitted[: len(self.emitted) - layout]
        for size in range(min(LONGEST_NGRAM, len(self.emitted)), 0, -1):
            end = self.emitted[-size:]
            for part in (list(self.insert.prompt), text):
                for start in range(len(part) - size):
                    if part[start : start + size] == end and wanted > 0:
                        return part[start + size : start + size + wanted]
        return []


@dataclass
class Share:
    """What one slot does in one step, and what must come of it. `history` is what it had emitted before."""

    slot: int
    state: str  # "prompt" or "decode"
    request: Request
    history: list[int]
    turn: Turn = field(default_factory=Turn)
    drafts: list[int] = field(default_factory=list)
    reasoning: int = FREE  # in this step
    seeds: list[int] = field(default_factory=list)  # of its output rows
    seeds_before: list[int] = field(default_factory=list)
    verified: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)  # behind the first stop sequence
    emitted: list[int] = field(default_factory=list)

    @property
    def inputs(self) -> list[int]:
        """The tokens that the target runs."""
        return list(self.request.insert.prompt) if self.state == "prompt" else [self.history[-1], *self.drafts]

    @property
    def rows(self) -> int:
        return 1 + len(self.drafts)

    def __str__(self) -> str:
        return f"slot {self.slot} ({self.state}, {len(self.history)} tokens before, {len(self.drafts)} drafts)"


class Account:
    """The requests in their slots. Raises ScriptError for a step that no server could take."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: dict[int, Request] = {}

    @classmethod
    def rehearse(cls, script: Script) -> None:
        """Raise ScriptError, naming the step, if the script cannot be played."""
        account = cls(script)
        for number, step in enumerate(script.steps, 1):
            try:
                account.take(step)
            except ScriptError as error:
                raise ScriptError(f"step {number} ({kind(step)}): {error}") from error

    def take(self, step: AnyStep) -> dict[int, Share]:
        """Enter a step; what a step of the target does is returned by slot."""
        if isinstance(step, Step):
            return self.step(step.turns)
        if isinstance(step, Preempt):
            if step.slot not in self.requests:
                raise ScriptError(f"slot {step.slot} holds no request")
            del self.requests[step.slot]
        else:
            self.insert(step)
        return {}

    def insert(self, step: Insert) -> None:
        script = self.script
        if not 0 <= step.slot < script.slots:
            raise ScriptError(f"slot {step.slot}, expected one of {script.slots}")
        if step.slot in self.requests:
            raise ScriptError(f"slot {step.slot} is taken")
        if not step.prompt or not all(0 <= token < VOCABULARY for token in step.prompt):
            raise ScriptError(f"prompt {list(step.prompt)}, expected tokens from 0 to {VOCABULARY - 1}")
        room = script.max_len - len(step.prompt) - script.width
        if not 1 <= step.max_dec <= room:
            raise ScriptError(f"max_dec {step.max_dec}, expected 1 to {room}")
        if len(step.stops) > STOPS or not all(1 <= len(stop) <= STOP_TOKENS for stop in step.stops):
            raise ScriptError(f"stops: expected at most {STOPS} of 1 to {STOP_TOKENS} tokens")
        seed = step.seed if step.seed >= 0 else 1_000_003 * (step.slot + 1) % script.max_infer_seed
        if seed >= script.max_infer_seed:
            raise ScriptError(f"seed {seed}, expected below {script.max_infer_seed}")
        self.requests[step.slot] = Request(step, script.hit_at_limit, seed)

    def step(self, turns: Mapping[int, Turn]) -> dict[int, Share]:
        for slot, turn in turns.items():
            if not 0 <= slot < self.script.slots:
                raise ScriptError(f"slot {slot}, expected one of {self.script.slots}")
            if min(turn.right, turn.wrong) < 0 or turn.right + turn.wrong > self.script.drafts:
                raise ScriptError(f"slot {slot} has {turn}, expected at most {self.script.drafts} drafts")
        shares = {slot: self._share(slot, turns.get(slot, Turn())) for slot in sorted(self.requests)}
        for slot, share in shares.items():
            if share.request.ended:
                del self.requests[slot]
        return shares

    def _share(self, slot: int, turn: Turn) -> Share:
        request, script = self.requests[slot], self.script
        share = Share(slot, "decode" if request.emitted else "prompt", request, list(request.emitted), turn)
        if share.state == "decode":
            share.drafts = self._drafts(request, turn)
        request.reason()
        share.reasoning = request.reasoning
        share.seeds = [(request.seed + 4 * row) % script.max_infer_seed for row in range(share.rows)]
        share.seeds_before, request.last_seeds = request.last_seeds, share.seeds
        request.seed = (request.seed + script.advance) % script.max_infer_seed
        share.verified = self._verified(request, share.drafts if request.reasoning != BOUNDARY else [])
        share.cut = next(
            ([*share.verified[:i], END_IDS[0]] for i in range(len(share.verified)) if _stops(request, share, i)),
            share.verified,
        )
        for _ in share.verified:
            if request.emit():
                break
        share.emitted = request.emitted[len(share.history) :]
        return share

    def _drafts(self, request: Request, turn: Turn) -> list[int]:
        if self.script.method == "naive":
            return []
        if self.script.method == "ngram":
            wanted = min(self.script.drafts, request.insert.max_dec - len(request.emitted) - 1)
            return request.found(wanted, self.script.layout)
        drafts: list[int] = []
        for number in range(turn.right + turn.wrong):
            token = request.says(drafts)
            drafts.append(token if number < turn.right else (token + 1) % VOCABULARY)
        return drafts

    def _verified(self, request: Request, drafts: list[int]) -> list[int]:
        """The model's tokens as far as the drafts are right, and the one behind; up to an end or the limit, where
        verification puts in an end itself."""
        limit = request.insert.max_dec - len(request.emitted) if self.script.method != "naive" else self.script.max_len
        tokens: list[int] = []
        while True:
            token = request.says(tokens)
            full = len(tokens) + 1 >= limit
            tokens.append(END_IDS[0] if full and token not in END_IDS else token)
            place = len(tokens) - 1
            if token in END_IDS or full or place >= len(drafts) or drafts[place] != token:
                return tokens


def _stops(request: Request, share: Share, ahead: int) -> bool:
    return request.stops_behind(share.verified[:ahead])
