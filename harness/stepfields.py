"""What files of sequences have in common: header, steps and their fields. Mistakes are ValueErrors that say where."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml


def mapping(where: str, content: Any) -> dict[Any, Any]:
    """`content` as a mapping; nothing is an empty one."""
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{where}: {content!r}, expected a mapping")
    return dict(content)


def fields_of(where: str, of: type[Any], content: Any) -> dict[str, Any]:
    """The fields of dataclass `of` that `content` gives."""
    fields = mapping(where, content)
    known = [f.name for f in dataclasses.fields(of)]
    unknown = [str(name) for name in fields if name not in known]
    if unknown:
        raise ValueError(f"{where}: unknown key {', '.join(map(repr, unknown))}; there are {', '.join(known)}")
    return fields


def integer(where: str, value: Any) -> int:
    """`value`, if it is an integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{where}: {value!r}, expected an integer")
    return value


def flow(value: Any) -> str:
    """`value` as YAML on one line."""
    return str(yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)).strip()


def check_header(name: str, document: Mapping[str, Any], keys: Collection[str], required: Sequence[str]) -> None:
    """Raise ValueError unless `document` is a sequence of this kind: all `required` keys, no others than `keys`."""
    unknown = set(document) - set(keys)
    if unknown:
        raise ValueError(f"unknown key {', '.join(sorted(map(repr, unknown)))}; there are {', '.join(sorted(keys))}")
    if document.get("sequence") != name:
        raise ValueError(f"sequence: {document.get('sequence')!r}, expected {name}")
    for key in (*required, "steps"):
        if key not in document:
            raise ValueError(f"key {key!r} is missing")
    if not isinstance(document["steps"], list):
        raise ValueError("steps: expected a list")


def named_step(number: int, given: Any, kinds: Collection[str]) -> tuple[str, Any, str]:
    """A step's kind, its content, and how errors name it."""
    if not isinstance(given, dict) or len(given) != 1:
        raise ValueError(f"step {number}: expected a mapping with one of {', '.join(kinds)}")
    name, content = next(iter(given.items()))
    if name not in kinds:
        raise ValueError(f"step {number}: no step {name!r}; there are {', '.join(kinds)}")
    return name, content, f"step {number} ({name})"


def insertion(where: str, kind: type, content: Any) -> dict[str, Any]:
    """The fields of an insertion, which must name slot and prompt."""
    fields = fields_of(where, kind, content)
    missing = {"slot", "prompt"} - set(fields)
    if missing:
        raise ValueError(f"{where}: {' and '.join(sorted(missing))} missing")
    return fields


def changed(of: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults."""
    return {f.name: getattr(of, f.name) for f in dataclasses.fields(of) if getattr(of, f.name) != f.default}


def text(name: str, script: Any, header: Sequence[str], steps: Iterable[tuple[str, str]]) -> str:
    """A sequence's file, a line a step: `header` names fields of `script`, `steps` are kinds and contents."""
    lines = [f"sequence: {name}"]
    if script.why:
        lines += ["why: |", *(f"  {line}".rstrip() for line in script.why.splitlines())]
    fields = changed(script)
    lines += [f"{key}: {flow(fields[key]).removesuffix('...').strip()}" for key in header if key in fields]
    return "\n".join([*lines, "steps:", *(f"- {kind}: {content}" for kind, content in steps)]) + "\n"


def saved(folder: str) -> list[Path]:
    """The sequences that are kept in a folder of the cases, by name."""
    import opgold.cases

    return sorted((Path(opgold.cases.__path__[0]) / folder).glob("*.yaml"))
