"""Sizes of captured graphs, the maps that choose one, what was captured, and how it was warmed up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opgold.harness.glue.departure import Departure
from opgold.reference.glue import capture, warm_up

Lookup = Mapping[int, int] | Callable[[int], int]


def check_capture_sizes(
    sizes: Sequence[int],
    max_num_seqs: int,
    num_speculative_tokens: int = 0,
    method: str | None = None,
    *,
    only_prefill: bool = False,
    tensor_parallel: int = 1,
    chosen: bool = False,
) -> list[Departure]:
    """Are these the sizes to capture, in tokens? Those that a user has `chosen` need only be lawful: with `mtp` and
    `suffix` numbers of full rows, divided by `tensor_parallel`, descending.

    Raises ValueError for arguments that the golden model of the sizes refuses.
    """
    found = []
    width = capture.row_width(num_speculative_tokens, method) if method in capture.BY_ROWS else 1
    for index, size in enumerate(sizes):
        if size < width or size % width:
            expected = f"a multiple of {width}, the tokens of a row" if width > 1 else "at least 1"
            found.append(Departure(f"sizes[{index}]", f"{size}, expected {expected}"))
        elif size % tensor_parallel:
            found.append(Departure(f"sizes[{index}]", f"{size}, expected a multiple of the {tensor_parallel} ranks"))
        if index and size >= sizes[index - 1]:
            found.append(Departure(f"sizes[{index}]", f"{size} follows {sizes[index - 1]}, expected descending sizes"))
    if not chosen:
        want = capture.capture_sizes(
            max_num_seqs,
            num_speculative_tokens,
            method,
            only_prefill=only_prefill,
            tensor_parallel=tensor_parallel,
        )
        for what, some in (("are missing", set(want) - set(sizes)), ("are not expected", set(sizes) - set(want))):
            if some:
                found.append(Departure("sizes", f"{', '.join(map(str, sorted(some)))} {what}"))
    return found


def check_graph_choice(
    choose: Callable[[int, int], int],
    sizes: Sequence[int],
    max_num_seqs: int,
    num_speculative_tokens: int = 0,
    method: str | None = None,
) -> list[Departure]:
    """Does `choose(tokens, rows)` choose the right graph for every number of rows, of 1 token each and of full ones?

    A choice that raises where there is a graph, or does not where there is none, departs, too.
    """
    width = capture.row_width(num_speculative_tokens, method)
    found = []
    for rows in range(max_num_seqs + 1):
        for tokens in sorted({rows, rows * width}):
            try:
                want: int | None = capture.graph_of(tokens, rows, sizes, num_speculative_tokens, method)
            except ValueError:
                want = None
            found += _choice(f"{tokens} tokens in {rows} rows", want, choose, tokens, rows)
    return found


def check_pad(pad: Lookup, sizes: Sequence[int]) -> list[Departure]:
    """Does `pad`, a mapping or a function, give the least size for 0 tokens up to the largest, and none above?"""
    most = max(sizes)
    found = []
    for tokens in range(most + 2):
        want = capture.pad(tokens, sizes) if tokens <= most else None
        found += _choice(f"pad({tokens})", want, _look_up, pad, tokens)
    return found


def check_size_of(size_of: Lookup, sizes: Sequence[int], width: int) -> list[Departure]:
    """Does `size_of`, a mapping or a function, give the least size for 1 row of `width` tokens up to the most?

    Raises ValueError for a size that `width` does not divide.
    """
    found = []
    for rows in range(1, max(sizes) // width + 1):
        want = capture.size_of(rows, sizes, width)
        found += _choice(f"size_of({rows})", want, _look_up, size_of, rows)
    return found


def check_captured(tokens_of: Mapping[int, int]) -> list[Departure]:
    """Was each graph captured with as many tokens as its size, its key, says? `tokens_of` has the tokens that ran."""
    return [
        Departure(f"graph {size}", f"captured with {tokens} tokens, expected {size}")
        for size, tokens in tokens_of.items()
        if tokens != size
    ]


def check_warm_up(
    decode_lens: Mapping[str, int], num_speculative_tokens: int, model_steps: int, *, accept_all: bool = True
) -> list[Departure]:
    """Does a warm-up run target and draft at their full rows? `decode_lens` has what each of them, and each rank, takes
    for `expected_decode_len`, by any names."""
    want = warm_up.expected_decode_len(num_speculative_tokens)
    found = [
        Departure(f"expected_decode_len of {name}", f"{given}, expected {want}, the same for all")
        for name, given in decode_lens.items()
        if given != want
    ]
    width = num_speculative_tokens + 1
    for given in sorted(set(decode_lens.values())):
        rows = warm_up.warm_up_rows(given, model_steps, accept_all=accept_all)
        for model, seen in (("target", rows.target), ("draft", rows.draft)):
            if width not in seen:
                said = f"the {model} runs {', '.join(map(str, seen)) or 'no'} rows a slot, expected {width} once"
                found.append(Departure(f"warm-up of {given} tokens", said))
    return found


def check_prefill_lengths(lengths: Mapping[str, Sequence[int]], tokens: int, max_num_seqs: int) -> list[Departure]:
    """Does a warm-up of prefill alone give target and proposer the right prompts? `lengths` has those of each."""
    want = warm_up.prefill_lengths(tokens, max_num_seqs)
    return [
        Departure(f"prompts of {name}", f"{list(given)}, expected {want}")
        for name, given in lengths.items()
        if list(given) != want
    ]


def _look_up(lookup: Lookup, key: int) -> int:
    return lookup[key] if isinstance(lookup, Mapping) else lookup(key)


def _choice(name: str, want: int | None, choose: Callable[..., int], *arguments: Any) -> list[Departure]:
    """The departure, if any, of a choice from a size, or from being refused."""
    try:
        got = choose(*arguments)
    except Exception as error:  # whatever the choice raises
        said = f"raises {type(error).__name__}: {error}"
        return [] if want is None else [Departure(name, f"{said}, expected {want}")]
    if got == want:
        return []
    return [Departure(name, f"{got}, expected {'an error: no graph is so large' if want is None else want}")]
