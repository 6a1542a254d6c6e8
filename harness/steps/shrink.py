"""What is simpler than a chain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from opgold.harness.steps.account import Account
from opgold.harness.steps.script import AnyStep, Block, Insert, Resume, Script, ScriptError, Step, Turn

CHOICES = ("increment", "max_infer_seed", "hit_at_limit", "verify", "candidates", "window", "update")
Given = TypeVar("Given", Turn, Insert, Script)


def simpler(script: Script) -> Iterator[Script]:
    """Chains that can be played, with one thing less in them, the greatest cuts first."""
    for candidate in _candidates(script):
        try:
            Account.rehearse(candidate)
        except ScriptError:
            continue
        yield candidate


def _candidates(script: Script) -> Iterator[Script]:
    steps = script.steps
    for slot in sorted({step.slot for step in steps if isinstance(step, Insert)}):
        yield replace(script, steps=tuple(_without_slot(steps, slot)))
    for size in (16, 8, 4, 2, 1):
        for start in range(len(steps) - size, -1, -1):
            yield replace(script, steps=steps[:start] + steps[start + size :])
    for slot in sorted({step.slot for step in steps if isinstance(step, Block)}):
        waits = [isinstance(step, Block | Resume) and step.slot == slot for step in steps]
        yield replace(script, steps=tuple(step for step, wait in zip(steps, waits, strict=True) if not wait))
    for number, step in enumerate(steps):
        for easier in _easier(step):
            yield replace(script, steps=(*steps[:number], easier, *steps[number + 1 :]))
    yield from _with_defaults(script, CHOICES)
    if script.layout:
        yield replace(script, layout=0)
    for slots in range(1, script.slots):
        yield replace(script, slots=slots)
    for drafts in range(script.method != "naive", script.drafts):
        yield replace(script, drafts=drafts)


def _without_slot(steps: tuple[AnyStep, ...], slot: int) -> Iterator[AnyStep]:
    for step in steps:
        if isinstance(step, Step):
            yield Step({s: turn for s, turn in step.turns.items() if s != slot})
        elif step.slot != slot:
            yield step


def _easier(step: AnyStep) -> Iterator[AnyStep]:
    """A step with less in it: fields at their defaults, fewer drafts, a shorter prompt."""
    if isinstance(step, Step):
        for slot, turn in step.turns.items():
            yield Step({s: t for s, t in step.turns.items() if s != slot})
            for easier in _with_defaults(turn, ("right", "wrong", "emits", "seeds", "second", "uniform")):
                yield Step({**step.turns, slot: easier})
            if turn.right > 1:
                yield Step({**step.turns, slot: replace(turn, right=turn.right - 1)})
            if turn.wrong > 1:
                yield Step({**step.turns, slot: replace(turn, wrong=turn.wrong - 1)})
    elif isinstance(step, Insert):
        yield from _with_defaults(step, ("max_dec", "min_dec", "stops", "think", "reply", "seed", "chunk", "top_p"))
        for start in range(len(step.prompt) - 1, 0, -1):
            yield replace(step, prompt=step.prompt[start:], chunk=min(step.chunk, len(step.prompt) - start))
        if len(step.stops) > 1:
            yield from (replace(step, stops=(stop,)) for stop in step.stops)


def _with_defaults(of: Given, names: tuple[str, ...]) -> Iterator[Given]:
    """`of` with one more of these fields at its default."""
    for f in fields(of):
        if f.name in names and getattr(of, f.name) != f.default:
            changes: dict[str, Any] = {f.name: f.default}
            yield replace(of, **changes)
