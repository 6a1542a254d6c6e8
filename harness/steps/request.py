"""A request decoded as plainly as can be, a token at a time. It knows nothing of the ops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from opgold.harness.steps.script import Insert
from opgold.harness.steps.toy import END_IDS, INJECTED, NEVER, THINK_END, VOCABULARY, choices

LONGEST_NGRAM, SHORTEST_HYBRID = 3, 2  # tokens of an end that n-gram drafting looks for; of the hybrid, at least
FREE, BOUNDARY, FIRST_ANSWER, ANSWERED = range(4)  # how far a request's reasoning has come


@dataclass
class Request:
    """`ran` tokens of the prompt have been run. While it is `blocked` nothing happens to it; `resumed` until its next
    step, which has no drafts of a draft model."""

    insert: Insert
    hit_at_limit: bool
    seed: int
    ran: int = 0
    emitted: list[int] = field(default_factory=list)
    last_seeds: list[int] = field(default_factory=list)  # of the step before
    reasoning: int = FREE
    ended: bool = False
    blocked: bool = False
    resumed: bool = False
    thinking: bool = True
    injected: int = -1  # items put in so far; below 0: none is due
    replied: int = 0
    reply: int = field(init=False)

    def __post_init__(self) -> None:
        self.reply = self.insert.reply

    def __str__(self) -> str:
        return f"slot {self.insert.slot} ({'blocked' if self.waits else 'between steps'}, {len(self.emitted)} tokens)"

    @property
    def waits(self) -> bool:
        """Whether the slot has stopped until it gets cache blocks, or has them but has not run since."""
        return self.blocked or self.resumed

    @property
    def decodes(self) -> bool:
        """Whether its prompt has been run."""
        return self.ran == len(self.insert.prompt)

    @property
    def cached(self) -> int:
        """Tokens that the target has run for good."""
        return self.ran + max(0, len(self.emitted) - 1)

    def run_chunk(self) -> list[int]:
        """Run the next chunk of the prompt: its tokens."""
        start, prompt = self.ran, self.insert.prompt
        self.ran = min(start + (self.insert.chunk or len(prompt)), len(prompt))
        return list(prompt[start : self.ran])

    def void(self) -> Request:
        """The request as the ops see it while its prompt goes on: as if the prompt ended with the chunk that ran. What
        it then emits is taken back when the next chunk enters."""
        return replace(self, emitted=[])

    def says(self, drafts: Iterable[int] = ()) -> int:
        """The model's next token behind the prompt as far as it ran, what was emitted, and `drafts`."""
        ahead = list(drafts)
        first, second = self.chooses(ahead)
        return second if self._early(ahead) and first in END_IDS else first

    def chooses(self, ahead: list[int]) -> tuple[int, int]:
        """The model's first and second choice, whether it may end or not."""
        return choices([*self.insert.prompt[: self.ran], *self.emitted, *ahead])

    def ranking(self, ahead: list[int]) -> list[int]:
        """All tokens that may come behind `ahead`, the likeliest first: the model's choices, then those emitted least,
        then the lower ones."""
        banned = set(END_IDS) if self._early(ahead) else set()
        if self.reasoning == FIRST_ANSWER and not ahead:
            banned.add(NEVER)
        chosen = dict(zip(reversed(self.chooses(ahead)), (1, 2), strict=True))
        order = {token: (-chosen.get(token, 0), self.emitted.count(token), token) for token in range(VOCABULARY)}
        return sorted(set(order) - banned, key=lambda token: order[token])

    def _early(self, ahead: list[int]) -> bool:
        """Whether the token behind `ahead` must not end the request."""
        return len(self.emitted) + len(ahead) < self.insert.min_dec

    def stops_behind(self, ahead: list[int]) -> bool:
        """Whether what was emitted, with `ahead` behind it, ends with a stop sequence."""
        text = [*self.emitted, *ahead]
        return any(tuple(text[-len(stop) :]) == stop for stop in self.insert.stops)

    def emit(self, sampled: int | None = None) -> bool:
        """Decode one token, the model's own if it was not `sampled`, and tell whether nothing can follow it in the same
        step: another was put in its place, or it is the last."""
        said = self.says() if sampled is None else sampled
        token = END_IDS[0] if self.stops_behind([]) else said
        replaced = token != said
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

    def found(self, wanted: int, layout: int, shortest: int = 1) -> list[int]:
        """At most `wanted` drafts from the request's own text: what followed the leftmost place of its longest end, of
        `shortest` tokens or more, that was there."""
        wanted = min(wanted, self.insert.max_dec - len(self.emitted) - 1)
        text = self.emitted[: len(self.emitted) - layout]
        for size in range(min(LONGEST_NGRAM, len(self.emitted)), shortest - 1, -1):
            end = self.emitted[-size:]
            for part in (list(self.insert.prompt), text):
                for start in range(len(part) - size):
                    if part[start : start + size] == end and wanted > 0:
                        return part[start + size : start + size + wanted]
        return []
