"""What a module's function takes, and whether that is FastDeploy's call of an op."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opgold.harness.backends.base import Unprepared
from opgold.harness.paddle.form import CallForm


class CallMismatch(Unprepared):
    """A function that takes other arguments than the op's call has. The message says which."""


@dataclass(frozen=True)
class Parameters:
    """Positions that a function has: `names` in order (None where only their number is known), the first `required` of
    which must be given."""

    names: tuple[str | None, ...]
    required: int

    @property
    def known(self) -> bool:
        return all(name is not None for name in self.names)

    def __str__(self) -> str:
        return ", ".join(name or "?" for name in self.names)


@dataclass(frozen=True)
class Binding:
    """How a call is made: `positional` names in order, `keywords` by name, `absent` not at all."""

    positional: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def parameters_of(function: Callable[..., Any]) -> Parameters | None:
    """What a function takes, as far as can be told: Python functions say it, pybind11's do in their docstring."""
    try:
        declared = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return _documented(function.__doc__ or "")
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in declared):
        return _documented(function.__doc__ or "")
    required = [p for p in declared if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    return Parameters(tuple(p.name for p in declared), len(required))


def _documented(text: str) -> Parameters | None:
    """Of a docstring that begins as pybind11's do: `name(arg0: paddle::Tensor, x: int = 3) -> ...`."""
    match = re.match(r"\w+\((.*)\)\s*->", text)
    if match is None:
        return None
    depth, parts = 0, [""]
    for letter in match[1]:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    parts = [part.strip() for part in parts if part.strip()]
    if any(part.startswith("*") for part in parts):
        return None
    names = [part.split(":")[0].strip() for part in parts]
    required = sum("=" not in part for part in parts)
    return Parameters(tuple(None if re.fullmatch(r"arg\d+", name) else name for name in names), required)


def bind(form: CallForm, function: Callable[..., Any]) -> Binding:
    """How `function` is called as `form` says. Raises CallMismatch."""
    taken, beyond = parameters_of(function), tuple(form.beyond)
    if taken is None:
        return Binding(form.order, absent=beyond)
    if taken.known and set(taken.names[: taken.required]) <= {*form.order, *beyond}:
        return _by_name(form, taken)
    shifted = [
        (place, name)
        for place, name in enumerate(taken.names)
        if name in form.order and form.order[place : place + 1] != (name,)
    ]
    if taken.required <= len(form.order) <= len(taken.names) and not shifted:
        return Binding(form.order, absent=beyond)
    raise _mismatch(form, taken, f"it takes {_count(taken)}, the call has {len(form.order)}")


def _by_name(form: CallForm, taken: Parameters) -> Binding:
    absent = tuple(name for name in (*form.order, *form.beyond) if name not in taken.names)
    if lacking := [name for name in absent if name in form.order and not form.may_lack(name)]:
        raise _mismatch(form, taken, f"it lacks {', '.join(lacking)}")
    wanted = tuple(name for name in form.order if name in taken.names)
    has = tuple(name for name in taken.names if name in form.order)
    if wanted != has:
        first = next(pair for pair in zip(has, wanted, strict=True) if pair[0] != pair[1])
        raise _mismatch(form, taken, f"it takes {first[0]} where the call has {first[1]}")
    return Binding(wanted, tuple(name for name in form.beyond if name in taken.names), absent)


def _count(taken: Parameters) -> str:
    total = len(taken.names)
    return str(total) if total == taken.required else f"{taken.required} to {total}"


def _mismatch(form: CallForm, taken: Parameters, what: str) -> CallMismatch:
    return CallMismatch(
        f"{form.name} takes other arguments than FastDeploy's call of {form.op}: {what}\n"
        f"it takes  ({taken})\nthe call  ({', '.join(form.order)})"
    )
