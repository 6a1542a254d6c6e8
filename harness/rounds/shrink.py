"""What is simpler than a sequence of rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from opgold.harness.finding import Finding
from opgold.harness.rounds.account import Account
from opgold.harness.rounds.script import Block, Insert, Resume, Round, Script, ScriptError, Step, Turn
from opgold.harness.smallest import smallest

Given = TypeVar("Given", Turn, Insert)


def shrink(
    script: Script, findings: list[Finding], play: Callable[[Script], list[Finding]]
) -> tuple[Script, list[Finding]]:
    """The shortest sequence found from `script` whose first finding is of the same kind, and its findings."""
    return smallest(script, findings, play, lambda given: filter(_lawful, _simpler(given)))


def _lawful(script: Script) -> bool:
    try:
        Account.rehearse(script)
    except ScriptError:
        return False
    return True


def _simpler(script: Script) -> Iterator[Script]:
    """Sequences with one thing less in them, the greatest cuts first."""
    steps = script.steps
    for slot in sorted({step.slot for step in steps if isinstance(step, Insert)}):
        yield replace(script, steps=tuple(_without_slot(steps, slot)))
    for size in (16, 8, 4, 2, 1):
        for start in range(len(steps) - size, -1, -1):
            yield replace(script, steps=steps[:start] + steps[start + size :])
    for first, step in enumerate(steps):
        if isinstance(step, Block):
            for last in range(first + 1, len(steps)):
                if isinstance(steps[last], Resume):
                    yield replace(script, steps=steps[:first] + steps[first + 1 : last] + steps[last + 1 :])
    for number, step in enumerate(steps):
        for easier in _easier(step):
            yield replace(script, steps=(*steps[:number], easier, *steps[number + 1 :]))
    for slots in range(1, script.slots):
        yield replace(script, slots=slots)
    for model_steps in range(1, script.model_steps):
        yield replace(script, model_steps=model_steps)
    yield from _sooner(script)
    used = sorted({step.slot for step in steps if isinstance(step, Insert)})
    if used != list(range(len(used))):
        yield replace(script, steps=tuple(_renumbered(step, used.index) for step in steps))


def _sooner(script: Script) -> Iterator[Script]:
    """With an easier insertion and a round less: a prompt that takes fewer rounds alone shifts all that follows."""
    steps = script.steps
    for number, step in enumerate(steps):
        for easier in _easier(step) if isinstance(step, Insert) else ():
            for at in range(number + 1, len(steps)):
                if isinstance(steps[at], Round):
                    between = steps[number + 1 : at]
                    yield replace(script, steps=(*steps[:number], easier, *between, *steps[at + 1 :]))


def _without_slot(steps: tuple[Step, ...], slot: int) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Round):
            yield Round({s: turn for s, turn in step.turns.items() if s != slot})
        elif step.slot != slot:
            yield step


def _renumbered(step: Step, number_of: Callable[[int], int]) -> Step:
    if isinstance(step, Round):
        return Round({number_of(slot): turn for slot, turn in step.turns.items()})
    return replace(step, slot=number_of(step.slot))


def _easier(step: Step) -> Iterator[Step]:
    """A step with less in it: fields at their defaults, smaller numbers."""
    if isinstance(step, Round):
        for slot, turn in step.turns.items():
            others = {s: t for s, t in step.turns.items() if s != slot}
            yield Round(others)
            for easier in _with_defaults(turn):
                yield Round({**step.turns, slot: easier})
            if turn.accept > 2:
                yield Round({**step.turns, slot: replace(turn, accept=turn.accept - 1)})
    elif isinstance(step, Insert):
        yield from _with_defaults(step)
        for prompt in range(1, step.prompt):
            yield replace(step, prompt=prompt)


def _with_defaults(of: Given) -> Iterator[Given]:
    """`of` with one more field at its default."""
    for f in fields(of):
        if f.name not in ("slot", "prompt") and getattr(of, f.name) != f.default:
            changes: dict[str, Any] = {f.name: f.default}
            yield replace(of, **changes)
