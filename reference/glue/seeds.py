"""Seeds of sampling: by how much they advance in a step, modulo what, and who advances them.

A slot's row j samples with `(seed + 4 j) mod M`; after the step the seed is `(seed + increment) mod M`, exactly, as
`build_sampling_params` does it. Source: the Python glue, section 6.
"""

from __future__ import annotations

from opgold.reference.glue.capture import speculative_tokens

ROW_INCREMENT = 4
MAX_INFER_SEED = {"cuda": 2**63 - 2, "xpu": 2**31 - 2}
STRATEGIES = ("target_match", "greedy", "top_p")
ROLES = ("mixed", "prefill", "decode")


def increment(num_speculative_tokens: int, method: str | None, role: str = "mixed") -> int:
    """By how much a slot's seed advances in a step: 4 for each row that it may have.

    An instance that only prefills makes one draft. Raises ValueError for an unknown role or method, a negative number.
    """
    if role not in ROLES:
        raise ValueError(f"role: {role!r}, expected {', '.join(ROLES)}")
    drafts = speculative_tokens(num_speculative_tokens, method)
    return ROW_INCREMENT * ((1 if drafts and role == "prefill" else drafts) + 1)


def advanced(seed: int, by: int, modulus: int) -> int:
    """The seed after a step. Raises ValueError for a seed outside 0 .. modulus - 1 and a negative increment."""
    if not 0 <= seed < modulus:
        raise ValueError(f"infer_seed: {seed}, expected 0 to {modulus - 1}")
    if by < 0:
        raise ValueError(f"increment: {by}, expected at least 0")
    return (int(seed) + int(by)) % modulus


def row_seeds(seed: int, rows: int, modulus: int) -> list[int]:
    """The seeds of a slot's rows in a step. Raises ValueError as `advanced` does."""
    return [advanced(seed, ROW_INCREMENT * row, modulus) for row in range(rows)]


def seeds_repeat(rows: int, by: int) -> bool:
    """Whether consecutive steps of `rows` rows, advancing `by`, sample with a seed twice."""
    return ROW_INCREMENT * rows > by


def who_advances(method: str | None, strategy: str) -> str:
    """Who advances the seeds, once a step, on every platform: the op `build_sampling_params` where it runs, which is
    where drafts are verified by target match; else the runner.

    Raises ValueError for an unknown method or strategy.
    """
    speculative_tokens(0, method)
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy: {strategy!r}, expected {', '.join(STRATEGIES)}")
    return "op" if method not in (None, "naive") and strategy == "target_match" else "runner"
