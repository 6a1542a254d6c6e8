"""Sizes of captured graphs, in tokens, and which of them a step replays. Source: the Python glue, section 4.1."""

from __future__ import annotations

from collections.abc import Sequence

METHODS = ("mtp", "ngram", "suffix", "naive")
BY_ROWS = ("mtp", "suffix")  # methods whose steps choose their graph by live rows, not by tokens
MULTIPLIERS = (1, 2, 4, *range(8, 129, 8), *range(144, 257, 16), *range(288, 1025, 32))
PREFILL_LIMIT = 512


def speculative_tokens(num_speculative_tokens: int, method: str | None) -> int:
    """Drafts a row: as many as said, and none without a method or with `naive`. Raises ValueError for an unknown
    method and a negative number."""
    if method is not None and method not in METHODS:
        raise ValueError(f"method: {method!r}, expected {', '.join(METHODS)} or None")
    if num_speculative_tokens < 0:
        raise ValueError(f"num_speculative_tokens: {num_speculative_tokens}, expected at least 0")
    return 0 if method in (None, "naive") else num_speculative_tokens


def row_width(num_speculative_tokens: int, method: str | None) -> int:
    """Tokens of a row that verifies drafts: the drafts and 1. Raises as `speculative_tokens` does."""
    return speculative_tokens(num_speculative_tokens, method) + 1


def capture_limit(
    max_num_seqs: int, num_speculative_tokens: int = 0, method: str | None = None, *, only_prefill: bool = False
) -> int:
    """Tokens of the largest graph: all rows at full width where rows choose the graph, else one a row; 512 where only
    prefill is captured.

    Raises ValueError for fewer than 1 row, for an odd limit where rows choose the graph, and as `row_width` does.
    """
    width = row_width(num_speculative_tokens, method)
    if max_num_seqs < 1:
        raise ValueError(f"max_num_seqs: {max_num_seqs}, expected at least 1")
    if only_prefill:
        return PREFILL_LIMIT
    if method not in BY_ROWS:
        return max_num_seqs
    limit = max_num_seqs * width
    if limit % 2:
        raise ValueError(f"max_num_seqs: {max_num_seqs} rows of {width} are {limit} tokens, expected an even number")
    return limit


def capture_sizes(
    max_num_seqs: int,
    num_speculative_tokens: int = 0,
    method: str | None = None,
    *,
    only_prefill: bool = False,
    tensor_parallel: int = 1,
) -> list[int]:
    """Every size to capture, in tokens, descending: the row width times each multiplier, and the limit; none above it.

    Sizes that `tensor_parallel` does not divide are left out. Raises ValueError for `tensor_parallel` below 1, where no
    size is left, and as `capture_limit` does.
    """
    limit = capture_limit(max_num_seqs, num_speculative_tokens, method, only_prefill=only_prefill)
    width = row_width(num_speculative_tokens, method)
    if tensor_parallel < 1:
        raise ValueError(f"tensor_parallel: {tensor_parallel}, expected at least 1")
    sizes = {limit, *(width * multiplier for multiplier in MULTIPLIERS)}
    kept = [size for size in sizes if size <= limit and size % tensor_parallel == 0]
    if not kept:
        raise ValueError(f"tensor_parallel: {tensor_parallel} divides none of the sizes up to {limit}")
    return sorted(kept, reverse=True)


def pad(tokens: int, sizes: Sequence[int]) -> int:
    """The least of `sizes` that holds `tokens`; 0 for 0. Raises ValueError for tokens below 0 or above every size."""
    if tokens == 0:
        return 0
    fitting = [size for size in sizes if size >= tokens > 0]
    if not fitting:
        raise ValueError(f"tokens: {tokens}, expected 0 to {max(sizes, default=0)}, the largest captured size")
    return min(fitting)


def size_of(rows: int, sizes: Sequence[int], width: int) -> int:
    """The least of `sizes` that holds `rows` full rows of `width` tokens; 0 for 0.

    Raises ValueError for rows below 0 or more than every size holds, and for a size that `width` does not divide.
    """
    require_rows(sizes, width)
    try:
        return pad(rows * width, sizes)
    except ValueError as error:
        most = max(sizes, default=0) // width
        raise ValueError(f"rows: {rows}, expected 0 to {most}, those of the largest captured size") from error


def require_rows(sizes: Sequence[int], width: int) -> None:
    """Every size is a number of full rows, at least one. Raises ValueError naming the first that is not."""
    for index, size in enumerate(sizes):
        if size < width or size % width:
            raise ValueError(f"sizes[{index}] is {size}, expected a multiple of {width}, the tokens of a row")


def graph_of(tokens: int, rows: int, sizes: Sequence[int], num_speculative_tokens: int, method: str | None) -> int:
    """The size of the graph that a step with `tokens` in `rows` live rows replays.

    With `mtp` and `suffix` the rows choose it, else the tokens. Raises ValueError as `size_of` and `pad` do, and for
    more tokens than the graph of the rows holds.
    """
    if method not in BY_ROWS:
        return pad(tokens, sizes)
    width = row_width(num_speculative_tokens, method)
    size = size_of(rows, sizes, width)
    if tokens > size:
        raise ValueError(f"tokens: {tokens}, expected at most {size}, the graph of {rows} rows of {width}")
    return size
