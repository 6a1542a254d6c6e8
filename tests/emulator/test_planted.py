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
    ("memory", "bounds_member", "bounds", None),
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
    ("last_block", "last_no_release", "race", "y"),
    ("last_block", "last_no_acquire", "race", "y"),
    ("last_block", "last_narrow_fence", "race", "y"),
    ("last_block", "last_fence_too_early", "race", "y"),
    ("last_block", "last_no_barrier", "race", "y"),
    ("last_block", "last_chain", "race", "y"),
    ("last_block", "last_by_a_variable", "race", "y"),
    ("handshake", "flag_no_release", "race", "value"),
    ("handshake", "flag_no_acquire", "race", "value"),
    ("handshake", "flag_volatile", "race", "flag"),
    ("handshake", "flag_mixed", "race", "flag"),
    ("handshake", "flag_plain", "race", "flag"),
    ("handshake", "lock_no_fence", "race", "total"),
    ("handshake", "flag_for_a_warp", "race", "value"),
    ("warps", "lockstep_volatile", "race", "tile"),
    ("warps", "lockstep_plain", "race", "tile"),
    ("warps", "lockstep_shuffle", "race", "tile"),
    ("warps", "lockstep_leader", "race", "first"),
    ("warps", "lockstep_global", "race", "y"),
    ("warps", "lockstep_atomic", "race", "total"),
    ("warps", "lockstep_volatile_total", "race", "total"),
    ("warps", "left_writers", "race", "tile"),
    ("warps", "left_lanes", "race", "tile"),
    ("streams", "not_joined", "race", None),
    ("streams", "not_forked", "race", None),
    ("streams", "recorded_early", "race", "y"),
    ("streams", "overtakes", "race", "y"),
    ("streams", "two_sides", "race", "y"),
    ("streams", "fill_beside", "race", "y"),
    ("streams", "copy_beside", "race", "y"),
    ("streams", "captured", "race", "y"),
    ("excuses", "same_value", "race", "y"),
    ("excuses", "same_value_of_blocks", "race", "y"),
    ("excuses", "same_bytes", "race", "pair"),
    ("excuses", "past_the_scope", "race", "y"),
    ("excuses", "one_side", "race", "y"),
    ("excuses", "read_meanwhile", "race", "flag"),
    ("excuses", "waits_inside", "race", "flag"),
    ("excuses", "ordered", "race", "tile"),
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
    "bounds_member": "clang lets the last member of a struct be longer than it is declared",
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


@pytest.mark.parametrize("schedule", ["ascending", "descending", "random"])
def test_threads_that_wait_for_each_other_take_turns(schedule):
    report, y = call("handshake", "spins", 0, schedule=schedule, seed=3)
    assert report.faults == []
    assert y.tolist() == list(range(64))
    report, _ = call("handshake", "spins", 64, schedule=schedule)
    assert {fault.kind for fault in report.faults} == {"hang"}


def test_what_annotations_excused_is_counted():
    for op, bug, excused in (("same_value", 0, 63), ("same_value", 1, 0), ("ordered", 0, 32), ("without_effect", 0, 0)):
        report, _ = call("excuses", op, bug)
        (site,) = report.excuses
        assert (Path(site.file).name, site.count) == ("excuses.cu", excused)


def test_a_race_of_two_launches_names_both():
    report, _ = call("streams", "overtakes", 1)
    (fault,) = report.faults
    text = str(fault)
    assert text.count("the launch of put (streams.cu:") == 2
    assert fault.other.frames[0].line == fault.place.frames[0].line  # one kernel, launched twice


def test_a_race_with_a_thread_that_left_says_so():
    report, _ = call("warps", "left_writers", 1)
    (fault,) = report.faults
    assert "has left the kernel" in fault.detail
