"""Each planted bug is found, at its line; the same kernel without its bug is silent."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from opgold.kernels import build, runtime

KERNELS = Path(__file__).parent / "kernels"

# unit, op, kind of finding, argument or shared variable named by it
PLANTED = [
    ("memory", "bounds_read", "bounds", "x"),
    ("memory", "bounds_write", "bounds", "y"),
    ("memory", "bounds_vector", "bounds", "x"),
    ("memory", "bounds_copy", "bounds", "x"),
    ("memory", "bounds_shared", "bounds", "tile"),
    ("memory", "bounds_dynamic", "bounds", "tile"),
    ("memory", "misaligned", "alignment", "x"),
    ("memory", "uninitialised_shared", "uninitialised", "tile"),
    ("memory", "uninitialised_output", "uninitialised", "y"),
    ("memory", "input_write", "input-write", "x"),
    ("memory", "host_memory", "host-memory", None),
    ("memory", "host_touch", "host-memory", "x"),
    ("memory", "null_pointer", "host-memory", None),
    ("memory", "wild_pointer", "bounds", "x"),
    ("ordering", "race_threads", "race", "tile"),
    ("ordering", "race_reuse", "race", "tile"),
    ("ordering", "race_blocks", "race", "y"),
    ("ordering", "race_blocks_read", "race", "y"),
    ("ordering", "race_warp", "race", "tile"),
    ("ordering", "race_half_warp", "race", "tile"),
    ("ordering", "race_plain_and_atomic", "race", "total"),
    ("ordering", "race_sum", "race", "y"),
    ("ordering", "race_scan_storage", "race", "storage"),
    ("ordering", "race_reduce_storage", "race", "storage"),
    ("ordering", "race_bytes", "race", "words"),
    ("control", "barrier_exited", "barrier", None),
    ("control", "barrier_places", "barrier", None),
    ("control", "barrier_and_warp", "barrier", None),
    ("control", "warp_outside_mask", "warp", None),
    ("control", "warp_reads_outside", "warp", None),
    ("control", "warp_exited", "warp", None),
    ("control", "warp_places", "warp", None),
    ("control", "warp_other_call", "warp", None),
    ("control", "overflow", "overflow", None),
    ("control", "shift", "shift", None),
    ("control", "divide", "divide", None),
    ("control", "hang_accesses", "hang", None),
    ("control", "hang_silent", "hang", None),
    ("control", "stack", "stack", None),
    ("control", "launch_block", "launch", None),
    ("control", "launch_empty", "launch", None),
    ("control", "launch_shared", "launch", None),
    ("control", "capture_synchronise", "capture", None),
    ("control", "capture_stream", "capture", None),
    ("control", "capture_copy", "capture", None),
]
ANYWHERE = {"stack"}  # where a stack ends is nobody's line
CLANG_CANNOT = {
    "misaligned": "clang does not check the alignment of a whole-struct copy",
    "hang_silent": "clang keeps no line of a loop without accesses",
}
# What no instrumentation is needed for.
PLAIN = {op for unit, op, kind, _ in PLANTED if kind in {"barrier", "warp", "launch", "capture", "stack"}}


@cache
def library(unit: str, flavour: str = "checked") -> Path:
    return build.kernel_library(KERNELS / f"{unit}.cu", target="cuda-emu", flavour=flavour)


def call(unit: str, op: str, bug: int, *, flavour: str = "checked", **options):
    x = np.arange(64, dtype=np.int32)
    y = np.full(64, -7, np.int32)
    options = {"step_limit": 100_000, "time_limit": 0.2} | options
    report = runtime.device("cuda-emu").call(
        library(unit, flavour), op, tensors=[("x", x, "in"), ("y", y, "out")], attributes=[("bug", bug)], **options
    )
    return report, y


def under_clang() -> bool:
    return "clang" in Path(build.find_compiler("cuda-emu")).name


def planted_line(unit: str, op: str) -> int:
    lines = (KERNELS / f"{unit}.cu").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.rstrip().endswith(f"// planted {op}"))


def lines_of(fault) -> set[int]:
    found = {frame.line for frame in fault.place.frames if frame.file.endswith(".cu")}
    if fault.other:
        found |= {frame.line for frame in fault.other.frames}
    return found | {fault.line}


@pytest.mark.parametrize("schedule", ["ascending", "descending", "random"])
@pytest.mark.parametrize(("unit", "op", "kind", "argument"), PLANTED, ids=[row[1] for row in PLANTED])
def test_bug_is_found_at_its_line(unit, op, kind, argument, schedule):
    if op in CLANG_CANNOT and under_clang():
        pytest.skip(CLANG_CANNOT[op])
    report, _ = call(unit, op, 1, schedule=schedule, seed=3)
    assert kind in {fault.kind for fault in report.faults}, report
    fault = next(fault for fault in report.faults if fault.kind == kind)
    assert fault.argument == argument
    if op not in ANYWHERE:
        assert planted_line(unit, op) in lines_of(fault), fault


@pytest.mark.parametrize("schedule", ["ascending", "descending", "random"])
@pytest.mark.parametrize("flavour", ["checked", "plain"])
@pytest.mark.parametrize(("unit", "op"), [row[:2] for row in PLANTED], ids=[row[1] for row in PLANTED])
def test_right_twin_is_silent(unit, op, flavour, schedule):
    report, _ = call(unit, op, 0, flavour=flavour, schedule=schedule, seed=5)
    assert report.error is None
    assert report.faults == []


@pytest.mark.parametrize(("unit", "op", "kind"), [row[:3] for row in PLANTED if row[1] in PLAIN])
def test_plain_flavour_still_finds(unit, op, kind):
    report, _ = call(unit, op, 1, flavour="plain")
    assert kind in {fault.kind for fault in report.faults}


def test_plain_flavour_catches_stray_writes_by_canary():
    report, _ = call("memory", "bounds_write", 1, flavour="plain")
    (fault,) = report.faults
    assert (fault.kind, fault.argument, fault.element) == ("canary", "y", -1)


@pytest.mark.parametrize(("op", "argument"), [("wild_pointer", "x"), ("null_pointer", None)])
def test_plain_flavour_survives_a_fault(op, argument):
    for _ in range(50):
        report, _ = call("memory", op, 1, flavour="plain")
        (fault,) = report.faults
        assert (fault.kind, fault.argument) == ("fault", argument)
    assert planted_line("memory", op) in lines_of(fault)


def test_a_fault_that_was_foreseen_is_not_told_twice():
    for op in ("wild_pointer", "null_pointer", "divide"):
        report, _ = call("control" if op == "divide" else "memory", op, 1)
        assert len(report.faults) == 1
    if under_clang():
        pytest.skip(CLANG_CANNOT["misaligned"])
    report, _ = call("memory", "misaligned", 1)
    assert {fault.kind for fault in report.faults} == {"alignment"}


def test_element_block_and_thread_are_exact():
    report, _ = call("memory", "bounds_read", 1)
    (fault,) = report.faults
    assert (fault.element, fault.shape, fault.dtype, fault.size) == (64, (64,), "int32", 4)
    assert (fault.place.block, fault.place.thread, fault.place.access) == ((0, 0, 0), (63, 0, 0), "read")
    assert fault.kernel == "bounds_read"


def test_race_names_both_places():
    report, _ = call("ordering", "race_blocks", 1)
    fault = next(fault for fault in report.faults if fault.kind == "race")
    assert {fault.place.block, fault.other.block} == {(0, 0, 0), (1, 0, 0)}
    assert planted_line("ordering", "race_blocks") in {frame.line for frame in fault.other.frames}


def test_findings_are_counted_once():
    report, _ = call("memory", "input_write", 1)
    (fault,) = report.faults
    assert fault.count == 64


def test_nothing_runs_after_an_abandoned_launch():
    report, _ = call("control", "twice", 1)
    assert "launch failure" in report.error
    assert [launch["kernel"] for launch in report.launches] == ["hang_accesses"]
    report, _ = call("control", "twice", 0)
    assert report.error is None


def test_launch_refused_reaches_the_launcher():
    report, _ = call("control", "launch_block", 1)
    assert "invalid configuration" in report.error
