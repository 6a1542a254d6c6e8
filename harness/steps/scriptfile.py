"""Chains as YAML files that a person can write and read. The format: docs/sequences.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opgold.harness import stepfields, steps
from opgold.harness.casefile import CaseError, document_of
from opgold.harness.stepfields import (
    changed,
    check_header,
    fields_of,
    flow,
    insertion,
    integer,
    mapping,
    named_step,
    text,
)
from opgold.harness.steps.account import Account
from opgold.harness.steps.script import KINDS, AnyStep, Block, Insert, Preempt, Resume, Script, Step, Turn, kind

NUMBERS = ("drafts", "slots", "layout", "increment", "max_infer_seed", "max_len", "candidates", "window")
HEADER = ("method", *NUMBERS, "hit_at_limit", "verify", "update")
LISTS = {"prompt", "stops", "emits", "seeds", "second"}  # of steps
FRACTIONS = {"top_p", "uniform"}
KEYS = {"sequence", "why", "steps", *HEADER}


def read(path: Path) -> Script:
    """The chain of a file. Raises CaseError, also for one that no server could play."""
    return parse(document_of(path), path)


def parse(document: Mapping[str, Any], path: Path) -> Script:
    """The chain of a file's mapping. Raises CaseError."""
    try:
        script = _script(document, path)
        Account.rehearse(script)
    except ValueError as error:
        raise CaseError(f"{path}: {error}") from error
    return script


def _script(document: Mapping[str, Any], path: Path) -> Script:
    check_header(steps.NAME, document, KEYS, ("method", "drafts", "slots"))
    header = {name: document[name] for name in HEADER if name in document}
    header |= {name: integer(name, header[name]) for name in NUMBERS if name in header}
    taken = tuple(_step(number, given) for number, given in enumerate(document["steps"], 1))
    return Script(**header, steps=taken, why=str(document.get("why", "")).strip(), path=path)


def _step(number: int, given: Any) -> AnyStep:
    name, content, where = named_step(number, given, KINDS)
    if name == "step":
        turns = mapping(where, content)
        return Step({integer(where, slot): _turn(f"{where}: slot {slot}", turn) for slot, turn in turns.items()})
    if name == "insert":
        return _insert(where, content)
    of_slot: dict[str, type[Block | Resume | Preempt]] = {"block": Block, "resume": Resume, "preempt": Preempt}
    return of_slot[name](integer(where, content))


def _turn(where: str, content: Any) -> Turn:
    fields = fields_of(where, Turn, content)
    for key, value in fields.items():
        fields[key] = (_tokens if key in LISTS else _number if key in FRACTIONS else integer)(f"{where}: {key}", value)
    return Turn(**fields)


def _insert(where: str, content: Any) -> Insert:
    fields = insertion(where, Insert, content)
    for key, value in fields.items():
        at = f"{where}: {key}"
        if key == "prompt":
            fields[key] = _tokens(at, value)
        elif key == "stops":
            fields[key] = tuple(_tokens(at, stop) for stop in _list(at, value))
        else:
            fields[key] = (_number if key in FRACTIONS else integer)(at, value)
    return Insert(**fields)


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: {value!r}, expected a number")
    return float(value)


def _tokens(where: str, value: Any) -> tuple[int, ...]:
    return tuple(integer(where, token) for token in _list(where, value))


def _list(where: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where}: {value!r}, expected a list")
    return value


def write(script: Script, path: Path) -> None:
    """Write a chain so that `read` gives it back, a line a step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = ((kind(step), _content(step)) for step in script.steps)
    path.write_text(text(steps.NAME, script, HEADER, contents), encoding="utf-8")


def _content(step: AnyStep) -> str:
    if isinstance(step, Step):
        return flow({slot: _given(turn) for slot, turn in step.turns.items()})
    return flow(_given(step)) if isinstance(step, Insert) else str(step.slot)


def _given(of: Insert | Turn) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    values = changed(of)
    for name in LISTS & set(values):
        values[name] = [list(item) if isinstance(item, tuple) else item for item in values[name]]
    return values


def saved() -> list[Path]:
    """The chains that are kept, by name."""
    return stepfields.saved("chains")
