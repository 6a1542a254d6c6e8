"""What top-p verification must make of drafts. The probabilities of each row are those of `toy.probabilities`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Nucleus(NamedTuple):
    """One row's candidates, the most probable first: `ids` in all columns, of which the first `length` count."""

    ids: list[int]
    length: int

    def draw(self, uniform: float, top_p: float) -> int:
        """The first candidate up to which the probabilities reach `uniform` times `top_p`, or else the first of all."""
        mark = np.float32(uniform) * np.float32(top_p)
        return next((self.ids[rank - 1] for rank in range(1, self.length + 1) if mark <= reached(rank)), self.ids[0])


def reached(rank: int) -> float:
    """The sum of the probabilities up to and with `rank`, counted from 1."""
    return float(1 - 0.5**rank)


def nucleus(ranking: Sequence[int], top_p: float, most: int) -> Nucleus:
    """The fewest candidates that reach `top_p`. If `most` do not, all columns are filled and none counts, but for a
    `top_p` of 1, by which all do."""
    limit = np.float32(top_p)
    for rank in range(1, min(most, len(ranking)) + 1):
        if reached(rank) >= limit:
            return Nucleus([*ranking[:rank], *[0] * (most - rank)], rank)
    ids = list(ranking[:most])
    return Nucleus([*ids, *[-1] * (most - len(ids))], len(ids) if limit == 1 else 0)


def accepted(drafts: Sequence[int], rows: Sequence[Nucleus], window: int) -> int:
    """How many drafts pass: candidates of their rows, and second ones that the next `window` drafts, first candidates
    all of them, vouch for."""
    place = 0
    while place < len(drafts):
        ids, length = rows[place]
        if drafts[place] in ids[:length]:
            place += 1
            continue
        behind = range(place + 1, place + 1 + window)
        vouched = behind.stop <= len(drafts) and all(drafts[k] == rows[k].ids[0] for k in behind)
        if not (len(ids) > 1 and drafts[place] == ids[1] and vouched):
            break
        place = behind.stop
    return place
