"""Reads and writes the fields of a sequence's steps. Mistakes are ValueErrors that say where."""

from __future__ import annotations

import dataclasses
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
