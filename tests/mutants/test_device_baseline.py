"""With no mutant on, a kernel with mutants gives what the plain one gives."""

import pytest

from opgold.harness import casefile, runner
from opgold.harness.backends.native import Native

OPS = [("speculate_update", "cuda-emu"), ("get_padding_offset", "cuda-emu"), ("speculate_update", "xpu-emu")]


@pytest.mark.parametrize(("op", "target"), OPS)
def test_the_original_is_left_as_it_was(op, target):
    sides = [Native(target, flavour) for flavour in ("plain", "mutants")]
    cases = [casefile.read(path) for path in casefile.regressions(op)]
    compared = 0
    for case in cases:
        if case.refused is not None:
            continue
        for variant in runner.variants(case, sides[0]):
            plain, mutants = (runner.run_backend(case, side, variant) for side in sides)
            assert plain.report.error == mutants.report.error
            for name, array in plain.arrays.items():
                assert runner.same_bits(array, mutants.arrays[name]).all(), (case.name, variant, name)
                compared += array.size
    assert compared > 0
