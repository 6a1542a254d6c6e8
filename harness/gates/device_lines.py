"""Which lines of a kernel's file are device code; the others are its launcher's, which a host runs."""

from __future__ import annotations

from opgold.kernels.emulator.rewrite import Token, tokenize

MARKERS = {"__device__", "__global__"}


def device_lines(source: str) -> set[int]:
    """The lines, from 1, of all functions marked as a device's, from their heads to their ends."""
    tokens = tokenize(source)
    starts = _lines(tokens)
    lines: set[int] = set()
    head: int | None = None  # where the present declaration begins
    marked = False
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "blank":
            at += 1
            continue
        if token.text == "{" and marked:
            end = _end(tokens, at)
            lines.update(range(starts[at if head is None else head], starts[end] + 1))
            at = end
        if token.text in ("{", "}", ";"):
            head, marked = None, False
        else:
            head = at if head is None else head
            marked = marked or token.text in MARKERS
        at += 1
    return lines


def _lines(tokens: list[Token]) -> list[int]:
    """The line on which each token begins."""
    lines, line = [], 1
    for token in tokens:
        lines.append(line)
        line += token.text.count("\n")
    return lines


def _end(tokens: list[Token], at: int) -> int:
    """The last token of a body that begins at or after the braces at `at`, which may initialise a member instead."""
    depth = 0
    for position in range(at, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[position].text, 0)
        if depth == 0 and tokens[position].text == "}":
            behind = next((token.text for token in tokens[position + 1 :] if token.kind != "blank"), "")
            if behind not in (",", "{"):
                return position
    return len(tokens) - 1
