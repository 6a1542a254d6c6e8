"""Each hazard of an XPU that the emulator claims to see is found, at its line; the same kernel without it is silent."""

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from opgold.kernels import build, runtime

KERNELS = Path(__file__).parent / "kernels"

# unit, op, kind of finding, argument or shared variable named by it
PLANTED = [
    ("memory", "load_past", "bounds", "x"),
    ("memory", "store_before", "bounds", "y"),
    ("memory", "transfer_past", "bounds", "x"),
    ("memory", "transfer_before", "bounds", "y"),
    ("memory", "shared_past", "bounds", "first"),
    ("memory", "transfer_past_shared", "bounds", "tile"),
    ("memory", "local_past", "bounds", None),
    ("memory", "local_index_past", "bounds", None),
    ("memory", "vector_past", "bounds", "row"),
    ("memory", "vector_past_local", "bounds", None),
    ("memory", "vector_misaligned", "alignment", None),
    ("memory", "shared_assumed_zero", "uninitialised", "total"),
    ("memory", "output_read", "uninitialised", "y"),
    ("memory", "input_store", "input-write", "x"),
    ("memory", "input_transfer", "input-write", "x"),
    ("memory", "narrow_store", "width", "z"),
    ("memory", "narrow_transfer", "width", "z"),
    ("memory", "wrong_direction", "address-space", None),
    ("memory", "local_taken_for_global", "address-space", None),
    ("memory", "negative_length", "transfer", None),
    ("memory", "local_budget", "local-memory", None),
    ("memory", "shared_budget", "launch", None),
    ("memory", "group_budget", "launch", None),
    ("memory", "group_budget_late", "launch", None),
    ("ordering", "stored_then_sent", "fence", None),
    ("ordering", "read_then_loaded", "fence", None),
    ("ordering", "stored_then_loaded", "fence", None),
    ("ordering", "source_changes", "in-flight", None),
    ("ordering", "read_in_flight", "in-flight", None),
    ("ordering", "overtaken", "in-flight", None),
    ("ordering", "barrier_in_flight", "in-flight", None),
    ("ordering", "end_in_flight", "in-flight", None),
    ("ordering", "load_into_the_dead", "in-flight", None),
    ("ordering", "store_from_the_dead", "in-flight", None),
    ("ordering", "group_stored_then_sent", "fence", "row"),
    ("ordering", "wrong_fence", "in-flight", "tile"),
    ("ordering", "missing_barrier", "race", "tile"),
    ("ordering", "missing_fence", "fence", "tile"),
    ("ordering", "missing_global_fence", "fence", "y"),
    ("ordering", "published_too_early", "race", "value"),
    ("ordering", "clusters_collide", "race", "y"),
    ("ordering", "group_of_four", "race", "row"),
    ("ordering", "plain_then_transfer", "fence", "y"),
    ("ordering", "load_behind_transfer", "fence", "y"),
    ("ordering", "barrier_in_branch", "barrier", None),
    ("ordering", "left_before_barrier", "barrier", None),
    ("ordering", "same_value", "race", "y"),
    ("ordering", "same_value_stored", "race", "flag"),
    ("ordering", "same_value_in_flight", "race", "y"),
    ("ordering", "ordered", "race", "y"),
    ("ordering", "endless", "hang", None),
    ("ordering", "overflow_int", "overflow", None),
    ("ordering", "too_many_clusters", "launch", None),
    ("ordering", "too_many_cores", "launch", None),
    ("ordering", "waits", "capture", None),
]
# The budgets are those of a whole launch: its line is named.
LAUNCH_LINE = {"local_budget", "shared_budget", "group_budget", "group_budget_late"}
SCHEDULES = ["ascending", "descending", "random"]


@cache
def library(unit: str, flavour: str = "checked") -> Path:
    return build.kernel_library(KERNELS / f"xpu_{unit}.xpu", target="xpu-emu", flavour=flavour, strict=False)


def call(unit: str, op: str, bug: int, *, flavour: str = "checked", **options):
    x = np.arange(64, dtype=np.int32)
    y = np.full(64, -7, np.int32)
    z = np.full(64, 5, np.int64)
    options = {"step_limit": 100_000, "time_limit": 0.2} | options
    report = runtime.device("xpu-emu").call(
        library(unit, flavour),
        op,
        tensors=[("x", x, "in"), ("y", y, "out"), ("z", z, "inout")],
        attributes=[("bug", bug)],
        **options,
    )
    return report, y, z


def planted_line(unit: str, op: str) -> int:
    for suffix in (".xpu", ".cc"):
        lines = (KERNELS / f"xpu_{unit}{suffix}").read_text().splitlines()
        for number, line in enumerate(lines, 1):
            if line.rstrip().endswith(f"// planted {op}"):
                return number
    raise AssertionError(f"{op} is not marked")


def lines_of(fault) -> set[int]:
    found = {frame.line for frame in fault.place.frames}
    if fault.other:
        found |= {frame.line for frame in fault.other.frames}
    return found | {fault.line}


@pytest.mark.parametrize("copies", ["late", "early"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("unit", "op", "kind", "argument"), PLANTED, ids=[row[1] for row in PLANTED])
def test_hazard_is_found_at_its_line(unit, op, kind, argument, schedule, copies):
    report, *_ = call(unit, op, 1, schedule=schedule, copies=copies, seed=3)
    assert kind in {fault.kind for fault in report.faults}, report
    fault = next(fault for fault in report.faults if fault.kind == kind)
    assert fault.argument == argument
    if op in LAUNCH_LINE:
        assert "xpu_memory.cc" in str(fault)
    else:
        assert planted_line(unit, op) in lines_of(fault), fault


@pytest.mark.parametrize("copies", ["late", "early"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("unit", "op"), [row[:2] for row in PLANTED], ids=[row[1] for row in PLANTED])
def test_right_twin_is_silent(unit, op, schedule, copies):
    report, *_ = call(unit, op, 0, schedule=schedule, copies=copies, seed=5)
    assert report.error is None
    assert report.faults == []


# What is seen at transfers, barriers and launches alone.
PLAIN = [
    "transfer_past", "transfer_before", "transfer_past_shared", "local_past", "vector_past_local", "vector_misaligned",
    "input_transfer", "narrow_transfer", "wrong_direction", "local_taken_for_global", "negative_length", "local_budget",
    "shared_budget", "group_budget", "overtaken", "barrier_in_flight", "end_in_flight", "barrier_in_branch",
    "left_before_barrier", "too_many_clusters", "too_many_cores", "waits",
]  # fmt: skip


@pytest.mark.parametrize(("unit", "op", "kind"), [row[:3] for row in PLANTED], ids=[row[1] for row in PLANTED])
def test_plain_flavour_finds_what_needs_no_instrumentation_and_nothing_else(unit, op, kind):
    if op in PLAIN:
        assert kind in {fault.kind for fault in call(unit, op, 1, flavour="plain")[0].faults}
    report, *_ = call(unit, op, 0, flavour="plain")
    assert report.error is None
    assert report.faults == []


def test_late_copies_send_what_the_source_has_become():
    for copies, expected in (("late", [3, 3, 3, 3]), ("early", [0, 1, 2, 3])):
        _, y, _ = call("ordering", "source_changes", 1, copies=copies)
        assert y[:4].tolist() == expected


def test_a_device_lets_cores_leave_and_meet_at_different_barriers():
    for op in ("left_before_barrier", "barrier_in_branch"):
        report, *_ = call("ordering", op, 1, barriers="device")
        assert report.faults == []


def test_findings_speak_of_clusters_and_cores():
    report, *_ = call("ordering", "missing_barrier", 1)
    text = str(next(fault for fault in report.faults if fault.kind == "race"))
    assert "by two cores with no barrier between" in text
    assert "cluster 0 core" in text
    assert "thread" not in text


FULL = """#include <xpu/kernel/cluster.h>
#define KERNEL(op) \\
  __global__ void op(__global_ptr__ const int* x, __global_ptr__ int* y, __global_ptr__ long long* z, int n, int bug)
static __device__ __shared_ptr__ int* first() {
  __shared__ int a[1];
  return a;
}
static __device__ __shared_ptr__ int* second() {
  __shared__ int b[1];
  return b;
}
KERNEL(order) {
  if (bug) second();
  __shared_ptr__ int* p = first();
  __shared_ptr__ int* q = second();
  *p = 1;
  *q = 2;
  y[0] = *p;
}
KERNEL(fill) {
"""


def test_no_two_variables_of_a_launch_share_a_place(tmp_path):
    unit = tmp_path / "places.xpu"
    unit.write_text(FULL + "".join(f"  __shared__ int f{i};\n  f{i} = 1;\n" for i in range(127)) + "}\n")
    shutil.copy(KERNELS / "planted_xpu.h", tmp_path)
    unit.with_suffix(".cc").write_text('#include "planted_xpu.h"\nPLANTED(order, 1, 1)\nPLANTED(fill, 1, 1)\n')
    built = build.kernel_library(unit, target="xpu-emu", strict=False)
    for op, bug in (("order", 1), ("fill", 0), ("order", 0)):  # the first variable keeps its place, the second gets it
        y = np.zeros(64, np.int32)
        tensors = [("x", y.copy(), "in"), ("y", y, "out"), ("z", np.zeros(64, np.int64), "inout")]
        report = runtime.device("xpu-emu").call(built, op, tensors=tensors, attributes=[("bug", bug)])
        assert report.faults == []
    assert y[0] == 1


def test_members_of_a_shared_struct_have_their_own_widths():
    report, y, _ = call("memory", "members", 0)
    assert report.faults == []
    assert y[0] == 3


def test_memory_that_a_launch_used_is_reported():
    report, *_ = call("memory", "shared_budget", 0)
    (launch,) = report.launches
    assert launch["shared_bytes"] == 150 * 1024
    report, *_ = call("memory", "local_budget", 0)
    (launch,) = report.launches
    assert 7_000 < launch["local_bytes"] <= 8_192
