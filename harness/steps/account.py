"""What each slot must emit: plain decoding, a token at a time. It knows nothing of the ops; steps are held to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opgold.harness.steps import nucleus
from opgold.harness.steps.nucleus import Nucleus
from opgold.harness.steps.request import BOUNDARY, FREE, SHORTEST_HYBRID, Request
from opgold.harness.steps.script import (
    STOP_TOKENS,
    STOPS,
    AnyStep,
    Block,
    Insert,
    Preempt,
    Resume,
    Script,
    ScriptError,
    Step,
    Turn,
    kind,
)
from opgold.harness.steps.toy import END_IDS, VOCABULARY


@dataclass
class Share:
    """What one slot does in one step, and what must come of it. `history` is what it had emitted before, `cached` the
    tokens run before, `inputs` those that the target runs. In state "chunk" the prompt goes on behind them: `request`
    is then one that ends with the chunk, and what it emits is void."""

    slot: int
    state: str  # "prompt", "chunk", "decode" or "blocked"
    request: Request
    history: list[int]
    turn: Turn = field(default_factory=Turn)
    cached: int = 0
    inputs: list[int] = field(default_factory=list)
    drafts: list[int] = field(default_factory=list)
    modelled: int = 0  # of them by a draft model; the others come from the slot's own text
    reasoning: int = FREE  # in this step
    seeds: list[int] = field(default_factory=list)  # of its output rows
    seeds_before: list[int] = field(default_factory=list)
    candidates: list[Nucleus] = field(default_factory=list)  # of its output rows, for top-p verification
    verified: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)  # behind the first stop sequence
    emitted: list[int] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Output rows: one of a prompt, one of a token and each of its drafts."""
        return 0 if self.state == "blocked" else 1 + len(self.drafts)

    @property
    def delivered(self) -> list[int]:
        """What was emitted and is not taken back."""
        return [] if self.state == "chunk" else self.emitted

    @property
    def runs_on(self) -> bool:
        """Whether the slot goes on behind what it emitted."""
        return self.state != "blocked" and not self.request.ended

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
        if isinstance(step, Insert):
            self.insert(step)
        else:
            if step.slot not in self.requests:
                raise ScriptError(f"slot {step.slot} holds no request")
            if isinstance(step, Preempt):
                del self.requests[step.slot]
            else:
                self._block(step)
        return {}

    def _block(self, step: Block | Resume) -> None:
        request, blocks = self.requests[step.slot], isinstance(step, Block)
        if request.blocked == blocks:
            raise ScriptError(f"slot {step.slot} is {'already' if blocks else 'not'} blocked")
        if not request.decodes:
            raise ScriptError(f"slot {step.slot} has not run its prompt")
        request.blocked, request.resumed = blocks, not blocks

    def insert(self, step: Insert) -> None:
        script = self.script
        if not 0 <= step.slot < script.slots:
            raise ScriptError(f"slot {step.slot}, expected one of {script.slots}")
        if step.slot in self.requests:
            raise ScriptError(f"slot {step.slot} is taken")
        if not step.prompt or not all(0 <= token < VOCABULARY for token in step.prompt):
            raise ScriptError(f"prompt {list(step.prompt)}, expected tokens from 0 to {VOCABULARY - 1}")
        if not 0 <= step.chunk <= len(step.prompt):
            raise ScriptError(f"chunk {step.chunk}, expected 0 to {len(step.prompt)}, the tokens of the prompt")
        room = script.max_len - len(step.prompt) - script.width
        if not 1 <= step.max_dec <= room:
            raise ScriptError(f"max_dec {step.max_dec}, expected 1 to {room}")
        if len(step.stops) > STOPS or not all(1 <= len(stop) <= STOP_TOKENS for stop in step.stops):
            raise ScriptError(f"stops: expected at most {STOPS} of 1 to {STOP_TOKENS} tokens")
        if not 0 < step.top_p <= 1:
            raise ScriptError(f"top_p {step.top_p}, expected above 0, to 1")
        seed = step.seed if step.seed >= 0 else 1_000_003 * (step.slot + 1) % script.max_infer_seed
        if seed >= script.max_infer_seed:
            raise ScriptError(f"seed {seed}, expected below {script.max_infer_seed}")
        self.requests[step.slot] = Request(step, script.hit_at_limit, seed)

    def step(self, turns: Mapping[int, Turn]) -> dict[int, Share]:
        for slot, turn in turns.items():
            if not 0 <= slot < self.script.slots:
                raise ScriptError(f"slot {slot}, expected one of {self.script.slots}")
            if min(turn.right, turn.wrong) < 0 or turn.drafts > self.script.drafts:
                raise ScriptError(f"slot {slot} has {turn}, expected at most {self.script.drafts} drafts")
            if not all(0 <= place < turn.drafts for place in turn.second):
                raise ScriptError(f"slot {slot}: second {list(turn.second)}, expected places of {turn.drafts} drafts")
            if not 0 <= turn.uniform <= 1:
                raise ScriptError(f"slot {slot}: uniform {turn.uniform}, expected 0 to 1")
        shares = {slot: self._share(slot, turns.get(slot, Turn())) for slot in sorted(self.requests)}
        for slot in shares:
            if self.requests[slot].ended:
                del self.requests[slot]
        return shares

    def _share(self, slot: int, turn: Turn) -> Share:
        request, script = self.requests[slot], self.script
        share = Share(slot, "decode", request, list(request.emitted), turn, request.cached)
        if request.blocked:
            share.state = "blocked"
        elif request.decodes:
            self._draft(share)
            share.inputs = [share.history[-1], *share.drafts]
        else:
            share.inputs = request.run_chunk()
            share.state = "prompt" if request.decodes else "chunk"
        request.resumed = False
        if share.state != "blocked":
            request.reason()
        share.reasoning = request.reasoning
        share.seeds = [(request.seed + 4 * row) % script.max_infer_seed for row in range(share.rows)]
        share.seeds_before, request.last_seeds = request.last_seeds, share.seeds
        request.seed = (request.seed + script.advance) % script.max_infer_seed
        if share.state == "chunk":
            share.request = request.void()
        if share.state != "blocked":
            self._emit(share)
        return share

    def _emit(self, share: Share) -> None:
        """What comes of the step by and by."""
        request, sampled = share.request, self.script.verify == "top_p"
        drafts = share.drafts if request.reasoning != BOUNDARY else []
        share.verified = self._sampled(share, drafts) if sampled else self._verified(request, drafts)
        share.cut = next(
            ([*share.verified[:i], END_IDS[0]] for i in range(len(share.verified)) if _stops(request, share, i)),
            share.verified,
        )
        for token in share.verified:
            if request.emit(token if sampled else None):
                break
        share.emitted = request.emitted[len(share.history) :]

    def _draft(self, share: Share) -> None:
        """The drafts that the step verifies, and how many of them a draft model made."""
        request, script = share.request, self.script
        if script.method in ("mtp", "hybrid") and not request.resumed:
            share.drafts = self._model_drafts(request, share.turn)
            share.modelled = len(share.drafts)
        if script.method in ("ngram", "hybrid"):
            shortest = SHORTEST_HYBRID if script.method == "hybrid" else 1
            share.drafts += request.found(script.drafts - share.modelled, script.layout, shortest)

    def _model_drafts(self, request: Request, turn: Turn) -> list[int]:
        drafts: list[int] = []
        for number in range(turn.drafts):
            token = request.says(drafts)
            wrong = request.chooses(drafts)[1] if number in turn.second else (token + 1) % VOCABULARY
            drafts.append(token if number < turn.right and number not in turn.second else wrong)
        return drafts

    def _sampled(self, share: Share, drafts: list[int]) -> list[int]:
        """The drafts that are candidates of their rows, and one drawn behind them; up to an end or the limit. What
        comes hangs on what was drafted."""
        request, script, turn = share.request, self.script, share.turn
        top_p, room = request.insert.top_p, request.insert.max_dec - len(request.emitted)
        share.candidates = [
            nucleus.nucleus(request.ranking(share.drafts[:place]), top_p, script.candidates)
            for place in range(share.rows)
        ]
        count = nucleus.accepted(drafts, share.candidates, script.window)
        tokens = [*drafts[:count], share.candidates[count].draw(turn.uniform, top_p)][:room]
        ends = [place for place, token in enumerate(tokens) if token in END_IDS]
        tokens = tokens[: ends[0] + 1] if ends else tokens
        if len(tokens) == room and tokens[-1] not in END_IDS:
            tokens[-1] = END_IDS[0]
        return tokens

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
