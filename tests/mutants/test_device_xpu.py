"""What only an XPU's device code has: transfers, fences, cores."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from opgold.kernels import build, runtime
from opgold.kernels.mutants import Switch, mutants_of

SOURCE = Path(__file__).parent / "kernels" / "planted.xpu"
KINDS = ["dropped wait", "dropped fence", "dropped barrier", "dropped min/max", "thread index"]


@cache
def library() -> tuple[Path, Switch]:
    path = build.kernel_library(SOURCE, target="xpu-emu", flavour="mutants-checked")
    return path, Switch(path)


def call(number: int):
    path, switch = library()
    y = np.full(4, -7, np.int64)
    switch.select(number)
    try:
        report = runtime.device("xpu-emu").call(
            path, "planted", tensors=[("numbers", np.arange(4), "in"), ("y", y, "inout")], attributes=[], cores=4
        )
    finally:
        switch.select(0)
    return y.tolist(), sorted({fault.kind for fault in report.faults})


def test_the_original_is_silent():
    assert call(0) == ([4, 3, 2, 1], [])


@pytest.mark.parametrize("operator", KINDS)
def test_a_mutant_is_told_from_the_original(operator):
    numbers = [i + 1 for i, m in enumerate(mutants_of(SOURCE, "xpu")) if m.operator == operator and m.file == SOURCE]
    assert numbers
    assert any(call(number) != call(0) for number in numbers)
