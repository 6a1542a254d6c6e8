"""A toy language model: two fixed tables say which token follows the last two, and which would be second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

VOCABULARY = 18
END_IDS = (1, 7)  # the first is what limits and stop sequences put in; the model says either
THINK_END, LINE_BREAK = 3, 4
WORDS = range(8, 13)  # few, so that text comes round again
NEVER = 17  # the model never says it
INJECTED = (LINE_BREAK, THINK_END, LINE_BREAK, LINE_BREAK)  # ends a thought that is too long


SUPPRESSED = -1e10  # the logit of a token that must not come


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Mostly words; now and then an end, a line break and, mostly behind one, the end of a thought."""
    rng = np.random.default_rng(190)
    shape = (VOCABULARY, VOCABULARY)
    first = rng.choice([*WORDS] * 12 + [LINE_BREAK, LINE_BREAK, *END_IDS], shape)
    first[:, LINE_BREAK] = np.where(rng.random(VOCABULARY) < 0.5, THINK_END, first[:, LINE_BREAK])
    first[LINE_BREAK, THINK_END] = first[THINK_END, LINE_BREAK] = LINE_BREAK
    return first, rng.choice(WORDS, shape)


FIRST, SECOND = _tables()


def choices(tokens: Sequence[int]) -> tuple[int, int]:
    """What the model says behind `tokens`, and what in its place where it must not end. Any integers will do."""
    before, last = [0, *(int(token) for token in tokens[-2:])][-2:]
    place = before % VOCABULARY, last % VOCABULARY
    return int(FIRST[place]), int(SECOND[place])


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Half for the highest logit of a row, of equal ones that of the lower token, a quarter for the next, and so on:
    float32, exact in every sum. Suppressed tokens have none."""
    ranks = np.argsort(np.argsort(-logits, axis=1, kind="stable"), axis=1)
    return np.where(logits > SUPPRESSED / 2, 0.5 ** (1.0 + ranks), 0).astype(np.float32)
