"""How a batch of slots is drawn: first each slot's state, then the lengths that it implies."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges


class State(enum.Enum):
    """What a slot does in this step. Lengths: `this` (tokens now), `enc` (prompt chunk), `dec` (cached), in tokens."""

    IDLE = "idle"  # nothing at all
    STOPPED = "stopped"  # finished; `dec` is left over
    DECODE = "decode"  # one token, or one and its drafts
    PREFILL = "prefill"  # the first chunk of a prompt
    CHUNK = "chunked prefill"  # a later chunk, or a prefix-cache hit
    BLOCKED = "blocked"  # waits for cache blocks; no tokens
    GHOST = "ghost"  # tokens without either length: should not occur
    HELD = "held prefill"  # a prompt chunk without tokens: should not occur


LIVE = (State.DECODE, State.PREFILL, State.CHUNK)
ORDINARY = (State.IDLE, State.STOPPED, *LIVE)
STRANGE = (State.GHOST, State.HELD)


@dataclass(frozen=True)
class Batch:
    """The length vectors of a batch, int32 [bsz], and which slots are blocked, bool [bsz]."""

    this: np.ndarray
    enc: np.ndarray
    dec: np.ndarray
    blocked: np.ndarray

    @property
    def bsz(self) -> int:
        return len(self.this)

    @property
    def tokens(self) -> int:
        return int(self.this.sum())

    @property
    def cu_seqlens_q(self) -> np.ndarray:
        """Prefix sum of `this`, int32 [bsz+1]."""
        return prefix_sum(self.this)

    @property
    def output_rows(self) -> np.ndarray:
        """Rows that each slot gives to sampling, int32 [bsz]: one for a prompt chunk, else one a token."""
        return np.where((self.enc > 0) & (self.this > 0), 1, self.this).astype(np.int32)

    @property
    def longest_prompt(self) -> int:
        return int(self.this[self.enc > 0].max(initial=0))

    @property
    def longest_decode(self) -> int:
        return int(self.this[self.enc <= 0].max(initial=0))


def prefix_sum(lengths: np.ndarray) -> np.ndarray:
    """int32 [n+1], element 0 is 0."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def lengths_of(state: State, tokens: int, cached: int) -> tuple[int, int, int, bool]:
    """(this, enc, dec, blocked) of a slot in `state`, given how many tokens and cached tokens it would have."""
    return {
        State.IDLE: (0, 0, 0, False),
        State.STOPPED: (0, 0, cached, False),
        State.DECODE: (tokens, 0, cached, False),
        State.PREFILL: (tokens, tokens, 0, False),
        State.CHUNK: (tokens, tokens, cached, False),
        State.BLOCKED: (0, 0, cached, True),
        State.GHOST: (tokens, 0, 0, False),
        State.HELD: (0, tokens, 0, False),
    }[state]


def batch_of(slots: Sequence[tuple[int, int, int, bool]]) -> Batch:
    """A batch of (this, enc, dec, blocked) slots."""
    lengths = np.array([slot[:3] for slot in slots], np.int32).reshape(-1, 3)
    this, enc, dec = (np.ascontiguousarray(column) for column in lengths.T)
    return Batch(this, enc, dec, np.array([slot[3] for slot in slots], bool))


@st.composite
def batches(
    draw: st.DrawFn,
    states: Sequence[State] = ORDINARY,
    *,
    max_draft: int = 6,
    max_prompt: int = 129,
    max_cached: int = 40,
    min_slots: int = 0,
) -> Batch:
    """A batch of slots in `states`.

    A few slots are drawn one by one or, one time in five, a number of slots of the catalogue is filled from a seed.
    """

    def longest(state: State) -> int:
        return max_draft if state in (State.DECODE, State.GHOST) else max_prompt

    def slot(state: State) -> st.SearchStrategy[tuple[int, int, int, bool]]:
        tokens = edges.sizes(1, longest(state), usual=5)
        return st.builds(lengths_of, st.just(state), tokens, st.integers(1, max_cached))

    if draw(st.integers(0, 4)) < 4:
        fewest = max(min_slots, draw(st.integers(0, 5)))  # else too many batches are empty or hold one slot
        return batch_of(draw(st.lists(st.sampled_from(states).flatmap(slot), min_size=fewest, max_size=7)))
    count = draw(st.sampled_from(edges.SIZES))
    rng = draw(edges.seeds())
    picked = rng.integers(0, len(states), count)
    return batch_of(
        [
            lengths_of(state, int(rng.integers(1, min(longest(state), 12) + 1)), int(rng.integers(1, max_cached + 1)))
            for state in (states[i] for i in picked)
        ]
    )


def describe(this: int, enc: int, dec: int, blocked: bool = False) -> str:
    """The state of a slot in words, from its lengths."""
    if blocked:
        state = State.BLOCKED
    elif this == 0:
        state = State.HELD if enc > 0 else State.STOPPED if dec > 0 else State.IDLE
    elif enc > 0:
        state = State.CHUNK if dec > 0 else State.PREFILL
    else:
        state = State.DECODE if dec > 0 else State.GHOST
    return str(state.value)
