"""Sequences as YAML files that a person can write and read. The format: docs/sequences.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opgold.harness import rounds, stepfields
from opgold.harness.casefile import CaseError, document_of
from opgold.harness.rounds.account import Account
from opgold.harness.rounds.script import KINDS, Block, Insert, Preempt, Resume, Round, Script, Step, Turn, kind
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

HEADER = ("form", "model_steps", "slots", "instance", "scheduler", "max_len")
KEYS = {"sequence", "why", "steps", *HEADER}


def read(path: Path) -> Script:
    """The sequence of a file. Raises CaseError, also for one that no server could play."""
    return parse(document_of(path), path)


def parse(document: Mapping[str, Any], path: Path) -> Script:
    """The sequence of a file's mapping. Raises CaseError."""
    try:
        script = _script(document, path)
        Account.rehearse(script)
    except ValueError as error:
        raise CaseError(f"{path}: {error}") from error
    return script


def _script(document: Mapping[str, Any], path: Path) -> Script:
    check_header(rounds.NAME, document, KEYS, ("form", "model_steps", "slots"))
    header = {name: document[name] for name in HEADER if name in document}
    for name in ("model_steps", "slots", "max_len"):
        header[name] = integer(name, header.get(name, 64))
    steps = tuple(_step(number, given) for number, given in enumerate(document["steps"], 1))
    return Script(**header, steps=steps, why=str(document.get("why", "")).strip(), path=path)


def _step(number: int, given: Any) -> Step:
    name, content, where = named_step(number, given, KINDS)
    if name == "round":
        turns = mapping(where, content)
        return Round({integer(where, slot): _turn(f"{where}: slot {slot}", turn) for slot, turn in turns.items()})
    if name == "insert":
        fields = insertion(where, Insert, content)
        return Insert(**{key: integer(f"{where}: {key}", value) for key, value in fields.items()})
    simple: dict[str, type[Block | Resume | Preempt]] = {"block": Block, "resume": Resume, "preempt": Preempt}
    return simple[name](integer(where, content))


def _turn(where: str, content: Any) -> Turn:
    fields = fields_of(where, Turn, content)
    for key in ("accept", "end"):
        if key in fields:
            fields[key] = integer(f"{where}: {key}", fields[key])
    if not isinstance(fields.get("stop", False), bool):
        raise ValueError(f"{where}: stop: {fields['stop']!r}, expected true or false")
    if "ends" in fields:
        given = fields["ends"]
        if not isinstance(given, list) or not all(isinstance(substep, list) for substep in given):
            raise ValueError(f"{where}: ends: expected a list of integers for each substep")
        fields["ends"] = tuple(tuple(integer(f"{where}: ends", end) for end in substep) for substep in given)
    return Turn(**fields)


def write(script: Script, path: Path) -> None:
    """Write a sequence so that `read` gives it back, a line a step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = ((kind(step), _content(step)) for step in script.steps)
    path.write_text(text(rounds.NAME, script, HEADER, contents), encoding="utf-8")


def _content(step: Step) -> str:
    if isinstance(step, Round):
        return flow({slot: _given(turn) for slot, turn in step.turns.items()})
    return flow(_given(step)) if isinstance(step, Insert) else str(step.slot)


def _given(of: Insert | Turn) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    values = changed(of)
    if "ends" in values:
        values["ends"] = [list(substep) for substep in values["ends"]]
    return values


def saved() -> list[Path]:
    """The sequences that are kept, by name."""
    return stepfields.saved("sequences")
