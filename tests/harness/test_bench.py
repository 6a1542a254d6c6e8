"""Benchmarks: sound workloads, ratios within one run, and a mark where a target is missed."""

import io

import pytest
from rich.console import Console

from opgold.harness import bench
from opgold.harness.bench import workloads
from opgold.harness.bench.row import Row, Target, print_rows
from opgold.harness.runner import run_golden
from opgold.reference import schema

OPS = schema.ops()


@pytest.mark.parametrize("of", [workloads.on_gpu, workloads.of_models])
def test_golden_models_accept_every_workload(of):
    cases = [case for _, case, _ in of(OPS)]
    assert {case.op for case in cases} == set(workloads.INPUTS)
    for case in cases:
        golden = run_golden(case)
        assert golden.refusal is None
        assert golden.crash is None
        assert all(defined.all() for name, defined in golden.defined.items() if name != "first_token_out")


def test_every_target_belongs_to_a_workload():
    targets = {(case.op, batch) for batch, case, target in workloads.on_gpu(OPS) if target}
    assert targets == set(workloads.GPU_TARGETS)


def test_a_target_is_missed_by_its_own_unit():
    seconds = [3e-6, 2e-6, 9e-6]
    assert Row.of("op", "w", seconds, empty=1.0, copy=4.0, target=Target(2.9, "empty")).missed
    assert not Row.of("op", "w", seconds, empty=1.0, copy=4.0, target=Target(1, "copy")).missed
    assert Row.of("op", "w", seconds, target=Target(2.5, "us")).missed
    assert not Row.of("op", "w", seconds).missed


def test_the_table_shows_figures_ratios_and_the_mark():
    text = io.StringIO()
    rows = [Row.of("an_op", "w", [3e-6, 2e-6, 4e-6], empty=1.5, copy=6.0, target=Target(1.5, "empty"))]
    print_rows(rows, Console(file=text, width=120))
    for part in ("an_op", "3.00 (2.00)", "2.00", "0.50", "1.5x empty", "missed"):
        assert part in text.getvalue()


def test_only_chosen_ops_are_measured():
    rows = bench.run("cuda-emu", ["speculate_get_seq_lens_output"])
    assert [row.op for row in rows] == ["speculate_get_seq_lens_output (golden)"]
    assert rows[0].minimum > 0
    with pytest.raises(ValueError, match="xpu-emu: nothing is benchmarked"):
        bench.run("xpu-emu", OPS)
