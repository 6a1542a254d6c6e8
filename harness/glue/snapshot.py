"""Batches as they were before a call, and what a call has done to their buffers' places."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgold.harness.glue.departure import Departure, differing
from opgold.harness.glue.holder import Holder, address_of, array_of, held, is_array, names_of, share_memory
from opgold.reference.glue.groups import Groups, Side


@dataclass(frozen=True)
class Held:
    """A user's batch, a mapping or an object, with its groups; departures name its buffers behind `label`."""

    holder: Holder
    groups: Groups
    label: str = ""

    def names(self) -> Iterator[str]:
        """Of all arrays, tensors, lists and maps that it holds."""
        for name in names_of(self.holder):
            value = held(self.holder, name)
            if is_array(value) or isinstance(value, list | dict):
                yield name


class Snapshot:
    """Copies of all that is held, one for each object whoever holds it, and the objects and addresses themselves."""

    def __init__(self, sides: Sequence[Held]) -> None:
        self._sides = sides
        self._copies: dict[int, Any] = {}
        self._objects = [{name: held(side.holder, name) for name in side.names()} for side in sides]
        self._addresses = [
            {name: address_of(value) for name, value in objects.items() if is_array(value)} for objects in self._objects
        ]
        self.sides = [
            Side(self._copied(side, objects), side.groups) for side, objects in zip(sides, self._objects, strict=True)
        ]

    def _copied(self, side: Held, objects: dict[str, Any]) -> dict[str, Any]:
        batch = {name: self._copy(value) for name, value in objects.items()}
        for name, base in side.groups.views.items():
            if name in objects and base in objects and share_memory(objects[name], objects[base]):
                batch[name] = batch[base][: len(batch[name])]
        return batch

    def _copy(self, value: Any) -> Any:
        if id(value) not in self._copies:
            self._copies[id(value)] = array_of(value) if is_array(value) else copy.copy(value)
        return self._copies[id(value)]

    def moved(self) -> Iterator[Departure]:
        """Buffers whose names stand for another object, or that begin elsewhere."""
        for side, objects, addresses in zip(self._sides, self._objects, self._addresses, strict=True):
            for name, value in objects.items():
                now = held(side.holder, name)
                if now is not value:
                    yield Departure(side.label + name, "the name stands for another object")
                elif name in addresses and address_of(now) != addresses[name]:
                    yield Departure(side.label + name, "its memory was replaced")

    def departures(self, side: int, name: str, want: Any, why: str = "") -> Iterator[Departure]:
        """How what is held now differs from `want`."""
        now = held(self._sides[side].holder, name)
        label = self._sides[side].label + name
        if is_array(now):
            yield from differing(label, array_of(now), np.asarray(want), why)
        elif isinstance(now, dict):
            if now != want:
                yield Departure(label, f"{dict(sorted(now.items()))}, expected {dict(sorted(want.items()))}")
        elif len(now) != len(want):
            yield Departure(label, f"{len(now)} entries, expected {len(want)}")
        else:
            wrong = [index for index, value in enumerate(now) if not _same(value, want[index])]
            if wrong:
                index = wrong[0]
                yield Departure(
                    f"{label}[{index}]", f"{now[index]!r}, expected {want[index]!r}{', ' + why if why else ''}"
                )


def _same(first: Any, second: Any) -> bool:
    return first is second or bool(np.array_equal(first, second))
