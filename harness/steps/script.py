"""A chain as data: requests that enter slots, and what is drafted for them, step after step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Method = Literal["mtp", "ngram", "hybrid", "naive"]
METHODS: tuple[Method, ...] = ("mtp", "ngram", "hybrid", "naive")
LAYOUTS = (0, 1)
Update = Literal["unified", "legacy"]
UPDATES: tuple[Update, ...] = ("unified", "legacy")
Verification = Literal["top_p", "greedy", "target_match"]
VERIFICATIONS: tuple[Verification, ...] = ("top_p", "greedy", "target_match")  # in the order of verify_strategy
STOPS, STOP_TOKENS = 2, 3  # the most stop sequences of a request, and tokens of one
GPU_SEEDS, XPU_SEEDS = 2**63 - 2, 2**31 - 2


class ScriptError(ValueError):
    """A chain that no server could play. The message names step, slot and what was expected."""


@dataclass(frozen=True)
class Insert:
    """A request enters a slot.

    Its `prompt` (tokens) runs from the next step on, `chunk` tokens a step (0: at once). It may produce `max_dec`
    tokens, and does not end by itself before `min_dec`; `stops` are its stop sequences. It may think for `think` tokens
    and reply with `reply` (below 0: without limit). Its first `seed` is the slot's own where it is below 0. `top_p` is
    for top-p verification.
    """

    slot: int
    prompt: tuple[int, ...]
    max_dec: int = 24
    min_dec: int = 0
    stops: tuple[tuple[int, ...], ...] = ()
    think: int = -1
    reply: int = -1
    seed: int = -1
    chunk: int = 0
    top_p: float = 0.9


@dataclass(frozen=True)
class Turn:
    """Drafts for one slot: `right` that the model would say itself, and behind them `wrong` that it would not. Those at
    the places `second`, from 0, are its second choice instead. `uniform`, 0 to 1, is what top-p verification draws the
    last token of the step by; 0 is the first candidate.

    `emits` are the tokens that the slot must emit in this step, `seeds` those of its output rows, worked out by hand.
    """

    right: int = 0
    wrong: int = 0
    emits: tuple[int, ...] | None = None
    seeds: tuple[int, ...] | None = None
    second: tuple[int, ...] = ()
    uniform: float = 0.0

    @property
    def drafts(self) -> int:
        return self.right + self.wrong


@dataclass(frozen=True)
class Step:
    """A step of the target. Slots that are not named have no drafts. Prompts, slots in their first step behind a block,
    and the methods ngram and naive take none from here."""

    turns: Mapping[int, Turn] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """There is no cache block for what the slot may run next: it waits, and its request stays."""

    slot: int


@dataclass(frozen=True)
class Resume:
    """There are cache blocks for a blocked slot: it runs again in the next step."""

    slot: int


@dataclass(frozen=True)
class Preempt:
    """The request leaves the slot unfinished."""

    slot: int


AnyStep = Insert | Step | Block | Resume | Preempt
KINDS: dict[str, type[AnyStep]] = {
    "insert": Insert,
    "step": Step,
    "block": Block,
    "resume": Resume,
    "preempt": Preempt,
}


def kind(step: AnyStep) -> str:
    """The key of a step in a file."""
    return type(step).__name__.lower()


@dataclass(frozen=True)
class Script:
    """`method` says where drafts come from, `layout` where history lies, `drafts` is how many a step may have. Each
    step advances seeds by `increment` (0: four a row), modulo `max_infer_seed`. `hit_at_limit` is that of the thinking
    limit. Rows of prompts and histories have `max_len` columns. Of `verify` top_p lists `candidates` for each row, and
    lets a second candidate pass before `window` first ones. `update` legacy: two older ops take the step's tokens."""

    method: Method
    drafts: int
    slots: int
    steps: tuple[AnyStep, ...] = ()
    layout: int = 0
    increment: int = 0
    max_infer_seed: int = GPU_SEEDS
    hit_at_limit: bool = False
    max_len: int = 64
    verify: Verification = "target_match"
    candidates: int = 4
    window: int = 2
    update: Update = "unified"
    why: str = ""
    path: Path | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ScriptError(f"method: {self.method!r}, expected {' or '.join(METHODS)}")
        if self.verify not in VERIFICATIONS:
            raise ScriptError(f"verify: {self.verify!r}, expected {' or '.join(VERIFICATIONS)}")
        if self.update not in UPDATES:
            raise ScriptError(f"update: {self.update!r}, expected {' or '.join(UPDATES)}")
        if self.method == "naive" and self.verify != "target_match":
            raise ScriptError(f"verify: {self.verify}, expected target_match: the method naive does not verify")
        if self.layout not in LAYOUTS:
            raise ScriptError(f"layout: {self.layout!r}, expected 0 or 1")
        if not isinstance(self.hit_at_limit, bool):
            raise ScriptError(f"hit_at_limit: {self.hit_at_limit!r}, expected true or false")
        for name, count, least in (
            ("drafts", self.drafts, 0 if self.method == "naive" else 1),
            ("slots", self.slots, 1),
            ("max_len", self.max_len, 1),
            ("increment", self.increment, 0),
            ("candidates", self.candidates, 1),
            ("window", self.window, 0),
            ("max_infer_seed", self.max_infer_seed, 1),
        ):
            if count < least:
                raise ScriptError(f"{name}: {count}, expected at least {least}")

    @property
    def form(self) -> str:
        """What chooses the ops."""
        return self.method

    @property
    def width(self) -> int:
        """The most tokens that a slot runs in a decoding step."""
        return 1 + self.drafts

    @property
    def advance(self) -> int:
        """By how much a step advances each seed."""
        return self.increment or 4 * self.width
