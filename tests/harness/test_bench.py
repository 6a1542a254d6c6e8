"""Benchmarks: sound workloads, ratios within one run, and a mark where a target is missed."""

import io
from itertools import islice

import pytest
from rich.console import Console

from opgold.harness import bench
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.bench import steps, xpu
from opgold.harness.bench.row import Row, print_rows, workloads
from opgold.harness.runner import run_golden
from opgold.reference import schema

OPS = schema.ops()
LARGE = 2**26


@pytest.mark.parametrize("op", OPS)
def test_golden_models_accept_every_workload(op):
    cases = [case for case, _ in workloads([op], "empty", "copy", "read", "us")]
    assert len(cases) >= 2
    for case in cases:
        case.signature.bind(case.inputs, case.sizes)
        if sum(getattr(value, "nbytes", 0) for value in case.inputs.values()) > LARGE:
            continue  # the smaller workload has its inputs from the same function
        golden = run_golden(case)
        assert golden.refusal is None
        assert golden.crash is None
        written = [name for name in golden.defined if not case.signature.argument(name).reads]
        assert all(golden.defined[name].all() for name in written)


def test_a_target_is_missed_by_its_own_unit():
    seconds = [3e-6, 2e-6, 9e-6]
    assert Row.of("op", "w", seconds, empty=1.0, copy=4.0, limit=2.9, unit="empty").missed
    assert not Row.of("op", "w", seconds, empty=1.0, copy=4.0, limit=1, unit="copy").missed
    assert Row.of("op", "w", seconds, limit=2.5).missed
    assert not Row.of("op", "w", seconds).missed


def test_the_table_shows_figures_ratios_and_the_mark():
    text = io.StringIO()
    rows = [Row.of("an_op", "w", [3e-6, 2e-6, 4e-6], empty=1.5, copy=6.0, limit=1.5, unit="empty")]
    print_rows(rows, Console(file=text, width=120))
    for part in ("an_op", "3.00 (2.00)", "2.00", "0.50", "1.5x empty", "missed"):
        assert part in text.getvalue()


def test_steps_are_timed_one_by_one_and_must_be_right(monkeypatch):
    monkeypatch.setattr(steps, "STEPS", 20)
    rows = list(steps.measure())
    assert [row.op for row in rows] == ["target_steps (golden)", "target_steps (cuda-emu)"]
    assert 0 < rows[0].minimum <= rows[0].median
    assert rows[0].workload == "a step, of 20 in generated chains"

    class Wrong(GoldenBackend):
        def spoil(self, values, outputs, variant):
            if "step_output_ids" in values:
                values["step_output_ids"] += 1

    with pytest.raises(AssertionError, match="another value than the golden model's"):
        list(islice(steps.walk(Wrong()), 20))


def test_only_chosen_ops_are_measured():
    rows = bench.run("cuda-emu", ["speculate_get_seq_lens_output"])
    assert [row.op for row in rows] == ["speculate_get_seq_lens_output (golden)"]
    assert rows[0].minimum > 0
    with pytest.raises(ValueError, match="golden: nothing is benchmarked"):
        bench.run("golden", OPS)


def test_a_launch_of_64_cores_is_timed_with_its_target():
    rows = bench.run("xpu-emu", [])
    assert [(row.workload, row.limit) for row in rows] == [("64 cores", 50.0), ("64 cores, 3 barriers", None)]
    assert 0 < rows[0].minimum <= rows[0].median


def test_memory_of_every_launch_is_told_by_kernel_and_shape():
    found = list(xpu.budgets(["update_attn_mask_offsets", "draft_model_update"]))
    kernels = {(budget.op, budget.kernel, budget.grid) for budget in found}
    assert ("update_attn_mask_offsets", "advance_mask_bases", "8 x 64") in kernels
    assert ("draft_model_update", "draft_model_update", "1 x 64") in kernels
    assert len({budget.workload for budget in found}) == 2
    scanning = next(budget for budget in found if budget.kernel == "update_attn_mask_offsets")
    assert 1_000 < scanning.local <= xpu.LOCAL
    assert 4_096 <= scanning.shared <= xpu.SHARED


def test_a_workload_too_large_for_a_cpu_gives_way_to_a_small_case():
    (budget,) = xpu.budgets(["top_p_candidates"])
    assert budget.workload == "a small case"


def test_memory_over_its_limit_is_marked():
    text = io.StringIO()
    console = Console(file=text, width=120, force_terminal=True)
    xpu.print_budgets([xpu.Budget("op", "w", "kernel", "8 x 64", xpu.LOCAL + 1, 0)], console)
    assert "\x1b[31m8,193" in text.getvalue()
