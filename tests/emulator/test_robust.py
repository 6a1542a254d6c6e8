"""The process lives on: after faults, with other handlers installed, from many threads, under other compilers."""

import faulthandler
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from opgold.kernels import build, runtime

KERNELS = Path(__file__).parent / "kernels"


def call(op, bug, *, unit="memory", flavour="checked", n=64, **options):
    library = build.kernel_library(KERNELS / f"{unit}.cu", target="cuda-emu", flavour=flavour)
    x, y = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    options = {"step_limit": 100_000, "time_limit": 0.2} | options
    report = runtime.device("cuda-emu").call(
        library, op, tensors=[("x", x, "in"), ("y", y, "out")], attributes=[("bug", bug)], **options
    )
    return report, y


def resident_kib() -> int:
    return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line).split()[1])


def test_thousands_of_abandoned_launches_leave_nothing_behind():
    call("wild_pointer", 1, flavour="plain")
    before = resident_kib()
    for _ in range(3000):
        report, _ = call("wild_pointer", 1, flavour="plain")
        assert report.faults[0].kind == "fault"
    report, y = call("bounds_read", 0)
    assert report.faults == []
    assert y.tolist() == list(range(64))
    assert resident_kib() - before < 4096


def test_handlers_of_others_are_kept():
    was = faulthandler.is_enabled()
    faulthandler.enable()
    try:
        for _ in range(3):
            assert call("wild_pointer", 1, flavour="plain")[0].faults[0].kind == "fault"
            faulthandler.disable()
            faulthandler.enable()
    finally:
        if not was:
            faulthandler.disable()


def test_a_fault_outside_a_call_still_ends_the_process():
    script = (
        "import ctypes; from opgold.kernels import runtime; "
        "assert not runtime.device('cuda-emu').unavailable; ctypes.string_at(8)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode < 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_catches_faults_and_hangs():
    call("wild_pointer", 1, flavour="plain")
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # or a failure would never end
        fault = call("wild_pointer", 1, flavour="plain")[0].faults[0].kind
        hang = call("hang_silent", 1, unit="control", flavour="plain")[0].faults[0].kind
        os._exit(0 if (fault, hang) == ("fault", "hang") else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_calls_from_many_threads():
    def one(i):
        op, bug = [("bounds_read", 0), ("wild_pointer", 1), ("input_write", 1)][i % 3]
        return call(op, bug)[0].faults

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(one, range(120)))
    expected = [[], ["bounds"], ["input-write"]] * 40
    assert [[fault.kind for fault in faults] for faults in results] == expected


@pytest.mark.parametrize("n", [1, 3, 63, 65, 1023, 1024, 4097])
@pytest.mark.parametrize("shift", [0, 1, 5])
def test_every_size_and_shift_copies_in_and_out(n, shift):
    library = build.kernel_library(KERNELS / "control.cu", target="cuda-emu")
    x, y = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    report = runtime.device("cuda-emu").call(
        library, "capture_copy", tensors=[("x", x, "in"), ("y", y, "out")], attributes=[("bug", 0)], shift=shift
    )
    assert report.faults == []
    assert np.array_equal(x, y)
    assert all(address % 256 == 4 * shift for address in report.addresses.values())


def test_seeded_random_schedules_repeat():
    reports = [call("race_blocks", 1, unit="ordering", schedule="random", seed=seed)[0] for seed in (1, 1, 2, 3, 4)]
    places = [[(fault.place, fault.other) for fault in report.faults] for report in reports]
    assert places[0] == places[1]
    assert any(place != places[0] for place in places[2:])


@pytest.mark.skipif(not shutil.which("clang++"), reason="clang++ is not installed")
@pytest.mark.parametrize(
    ("unit", "op", "kind"),
    [
        ("memory", "bounds_vector", "bounds"),
        ("memory", "bounds_copy", "bounds"),
        ("memory", "uninitialised_shared", "uninitialised"),
        ("memory", "input_write", "input-write"),
    ],
)
def test_clang_finds_the_same(monkeypatch, unit, op, kind):
    gcc_device = build.device_library("cuda-emu")
    monkeypatch.setenv("OPGOLD_CXX", "clang++")
    monkeypatch.setattr(build, "device_library", lambda target: gcc_device)  # one process, one emulator
    assert kind in {fault.kind for fault in call(op, 1, unit=unit)[0].faults}
    assert call(op, 0, unit=unit)[0].faults == []


def test_a_refusal_says_a_real_number_as_it_is():
    assert call("bounds_read", 0.5)[0].error == "bug: is 0.5, expected an integer"
