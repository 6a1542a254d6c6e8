"""A sequence as data: what the server does with its slots, step after step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FORMS = ("stateful", "stateless")
INSTANCES = ("mixed", "prefill", "decode")
SCHEDULERS = ("v1", "v0")


class ScriptError(ValueError):
    """A sequence that no server could play. The message names step, slot and what was expected."""


@dataclass(frozen=True)
class Insert:
    """A request enters a slot.

    Its `prompt` tokens run `chunk` at a time (0: at once); `output` of them it had produced before it was preempted. It
    may produce `max_dec` tokens. Its mask ends run `delta` ahead of its positions. The last three are for a decode
    instance: drafts that came with the request, and what insertion writes to `mask_rollback` and `recompute_token_num`.
    """

    slot: int
    prompt: int
    max_dec: int = 32
    chunk: int = 0
    output: int = 0
    delta: int = 0
    drafts: int = 1
    rollback: int = 1
    recompute: int = 0


@dataclass(frozen=True)
class Turn:
    """What one slot does in a round.

    The target accepts `accept` of the tokens that it runs, and ends the request if `stop`. The draft samples an end
    token at substep `end`. `ends` are the mask ends that each substep must see, worked out by hand.
    """

    accept: int = 1
    stop: bool = False
    end: int | None = None
    ends: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class Round:
    """Verification by the target and a draft round; slots that are not named take a plain `Turn`."""

    turns: Mapping[int, Turn] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """The scheduler finds no cache block for the slot: it waits, and its request stays."""

    slot: int


@dataclass(frozen=True)
class Resume:
    """A blocked slot goes on."""

    slot: int


@dataclass(frozen=True)
class Preempt:
    """The request leaves the slot unfinished."""

    slot: int


Step = Insert | Round | Block | Resume | Preempt
KINDS: dict[str, type[Step]] = {
    "insert": Insert,
    "round": Round,
    "block": Block,
    "resume": Resume,
    "preempt": Preempt,
}


def kind(step: Step) -> str:
    """The key of a step in a file."""
    return type(step).__name__.lower()


@dataclass(frozen=True)
class Script:
    """`form` chooses the ops, `model_steps` is how many tokens a round drafts, `slots` the most at a time; rows of
    prompts and histories have `max_len` columns. Schedulers differ only in the stateful form."""

    form: Literal["stateful", "stateless"]
    model_steps: int
    slots: int
    steps: tuple[Step, ...] = ()
    instance: Literal["mixed", "prefill", "decode"] = "mixed"
    scheduler: Literal["v1", "v0"] = "v1"
    max_len: int = 64
    why: str = ""
    path: Path | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("form", self.form, FORMS),
            ("instance", self.instance, INSTANCES),
            ("scheduler", self.scheduler, SCHEDULERS),
        ):
            if value not in known:
                raise ScriptError(f"{name}: {value!r}, expected {' or '.join(known)}")
        for name, count in (("model_steps", self.model_steps), ("slots", self.slots), ("max_len", self.max_len)):
            if count < 1:
                raise ScriptError(f"{name}: {count}, expected at least 1")
        if self.form == "stateless" and self.scheduler == "v0":
            raise ScriptError("scheduler: v0, expected v1: the stateless form knows no other")

    @property
    def stateful(self) -> bool:
        return self.form == "stateful"
