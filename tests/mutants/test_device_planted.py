"""Every operator on a planted source: what it makes of the text, and of the result."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from opgold.kernels import build, runtime
from opgold.kernels.mutants import Mutant, Switch, mutants_of

SOURCE = Path(__file__).parent / "kernels" / "planted.cu"
BIG = 5_000_000_000
STALE = -7  # what y holds before the call

# operator, before, after, (a, b), where in y, the original's value, the mutant's
FAULTS = [
    ("comparison", "a < b", "a <= b", (2, 2), 8, 0, 1),
    ("dropped guard", "a < b", "false", (1, 2), 8, 1, 0),
    ("off by one", "i < b", "i <= b", (2, 3), 9, 6, 8),
    ("off by one", "i < b", "i + 1 < b", (2, 3), 9, 6, 4),
    ("dropped statement", "sum += a;", "", (2, 3), 9, 6, 0),
    ("assignment", "sum += a", "sum = a", (2, 3), 9, 6, 2),
    ("arithmetic", "a - b", "a + b", (5, 3), 10, 2, 8),
    ("bits", "a & b", "a | b", (5, 3), 11, 1, 7),
    ("dropped guard", "a", "true", (0, 3), 12, 3, 7),
    ("dropped guard", "a", "false", (1, 3), 12, 7, 3),
    ("constant", "7", "8", (1, 3), 12, 7, 8),
    ("condition", "odd(a) && odd(b)", "false", (1, 3), 13, 1, 0),
    ("condition", "odd(a) && odd(b)", "odd(b)", (2, 3), 13, 0, 1),
    ("condition", "odd(a) && odd(b)", "odd(a)", (3, 2), 13, 0, 1),
    ("arithmetic", "a % 2", "a / 2", (1, 1), 13, 1, 0),
    ("constant", "20", "21", (1, 0), 14, 20, 21),
    ("off by one", "a", "a + 1", (1, 0), 14, 20, 40),
    ("dropped min/max", "min(a, b)", "a", (5, 3), 15, 3, 5),
    ("dropped min/max", "min(a, b)", "b", (3, 5), 15, 3, 5),
    ("swapped arguments", "difference(a, b)", "difference(b, a)", (5, 3), 16, 2, -2),
    ("64 to 32 bits", "numbers[0]", "int32(numbers[0])", (0, 0), 17, BIG, int(np.int64(BIG).astype(np.int32))),
    ("dropped statement", "result = a;", "", (5, 3), 18, 5, 3),
    ("condition", "!result", "!!result", (0, 3), 18, 0, 1),
    ("dropped statement", "y[threadIdx.x] = a;", "", (4, 1), 2, 4, STALE),
    ("arithmetic", "4 + threadIdx.x", "4 - threadIdx.x", (4, 1), 6, 5, STALE),
    ("constant", "8", "9", (1, 2), 8, 1, STALE),
    ("dropped guard", "threadIdx.x != 3", "true", (1, 2), 8, 1, STALE),
]
PLACES = [("thread index", "threadIdx.x", "0"), ("dropped barrier", "__syncthreads();", "")]


@cache
def library(flavour: str = "mutants") -> tuple[Path, Switch]:
    path = build.kernel_library(SOURCE, target="cuda-emu", flavour=flavour)
    return path, Switch(path)


def call(a: int, b: int, number: int = 0, flavour: str = "mutants", schedule: str = "ascending"):
    path, switch = library(flavour)
    y = np.full(19, STALE, np.int64)
    tensors = [("numbers", np.array([BIG, 0]), "in"), ("y", y, "inout")]
    switch.select(number)
    try:
        report = runtime.device("cuda-emu").call(
            path, "planted", tensors=tensors, attributes=[("a", a), ("b", b)], schedule=schedule, time_limit=0.5
        )
    finally:
        switch.select(0)
    return y.tolist(), report


def numbers_of(operator: str, before: str, after: str) -> list[int]:
    found = mutants_of(SOURCE, "cuda")
    return [i + 1 for i, m in enumerate(found) if (m.operator, m.before, m.after) == (operator, before, after)]


@pytest.mark.parametrize(("operator", "before", "after", "arguments", "place", "right", "wrong"), FAULTS)
def test_a_mutant_is_listed_and_gives_its_fault(operator, before, after, arguments, place, right, wrong):
    found = numbers_of(operator, before, after)
    assert found, f"no mutant {operator}: {before} -> {after}"
    assert call(*arguments)[0][place] == right
    assert wrong in [call(*arguments, number)[0][place] for number in found]


@pytest.mark.parametrize(("operator", "before", "after"), PLACES)
def test_a_mutant_of_threads_changes_something(operator, before, after):
    original = [call(2, 1, schedule=schedule)[0] for schedule in ("ascending", "descending")]
    assert original[0] == original[1]
    for number in numbers_of(operator, before, after):
        changed = [call(2, 1, number, schedule=schedule)[0] for schedule in ("ascending", "descending")]
        assert changed != original


def test_a_mutant_says_where_it_stands_and_what_would_tell():
    (number,) = numbers_of("comparison", "a < b", "a <= b")
    assert mutants_of(SOURCE, "cuda")[number - 1] == Mutant(
        SOURCE, 9, 54, "comparison", "a < b", "a <= b", "a case in which `a` equals `b`"
    )


def test_host_code_and_constants_of_the_compiler_have_no_mutants():
    lines = {m.line for m in mutants_of(SOURCE, "cuda")}
    text = SOURCE.read_text().splitlines()
    assert all(text[line - 1].strip() and "host_code" not in text[line - 1] for line in lines)
    assert not any("kThreads = 4" in text[line - 1] or "__shared__" in text[line - 1] for line in lines)
    assert not any("<<<" in text[line - 1] for line in lines)


@pytest.mark.parametrize("flavour", ["mutants", "mutants-checked"])
def test_what_a_run_reached_and_what_it_could_tell(flavour):
    _, switch = library(flavour)

    def recorded(a: int, b: int, *mutant: str) -> tuple[bool, bool]:
        switch.select(0)
        switch.clear()
        _, report = call(a, b, flavour=flavour)
        assert not report.faults
        (number, *_) = numbers_of(*mutant)
        return bool(switch.reached()[number - 1]), bool(switch.infected()[number - 1])

    assert recorded(1, 2, "comparison", "a < b", "a <= b") == (True, False)
    assert recorded(2, 2, "comparison", "a < b", "a <= b") == (True, True)
    assert recorded(0, 2, "dropped statement", "result = a;", "") == (False, False)
    assert recorded(1, 2, "dropped statement", "result = a;", "") == (True, True)
    assert recorded(2, 2, "swapped arguments", "difference(a, b)", "difference(b, a)") == (True, False)
    assert recorded(0, 2, "off by one", "i < b", "i <= b") == (True, True)


def test_the_checked_flavour_still_sees_what_a_mutant_does():
    (number,) = numbers_of("dropped barrier", "__syncthreads();", "")
    _, report = call(1, 2, number, "mutants-checked", "descending")
    assert {fault.kind for fault in report.faults} & {"race", "uninitialised"}


def test_a_number_without_a_mutant_is_refused():
    _, switch = library()
    with pytest.raises(ValueError, match=f"mutant {switch.count + 1}, expected 0 to {switch.count}"):
        switch.select(switch.count + 1)
    with pytest.raises(ValueError, match="mutant -1"):
        switch.select(-1)
