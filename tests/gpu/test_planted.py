"""Kernels with planted bugs on a GPU: each is found, and the next call works. Skipped where there is no GPU."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opgold.harness import devices
from opgold.harness.backends.base import Variant
from opgold.harness.backends.isolated import Isolated

MISBEHAVING = Path(__file__).parent / "planted" / "misbehaving.cu"
PLAIN = Variant()
SIZES = [5, 100_000]


@pytest.fixture(scope="module")
def cuda():
    backend = Isolated("cuda", time_limit=2)
    if reason := backend.unavailable():
        pytest.skip(f"backend cuda is not available: {reason}")
    yield backend
    backend.close()


def call(backend, op, size=5, variant=PLAIN):
    source, target = np.arange(size, dtype=np.int32), np.full(size, -1, np.int32)
    tensors = [("source", source, "in"), ("target", target, "out")]
    return backend.call_source(MISBEHAVING, op, tensors, [], variant), target


def assert_works(backend):
    report, target = call(backend, "work")
    assert report.error is None
    assert not report.faults
    assert target.tolist() == [1, 2, 3, 4, 5]


def test_a_sound_kernel_has_no_finding(cuda):
    for shift in range(8):
        report, target = call(cuda, "work", variant=Variant(shift=shift, seed=shift))
        assert not report.faults
        assert target.tolist() == [1, 2, 3, 4, 5]
        assert report.addresses["target"] % 256 == 4 * shift
        assert 0 < report.seconds < 1


def test_buffers_of_size_zero(cuda):
    report, target = call(cuda, "work", size=0)
    assert not report.faults
    assert target.size == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shift", [0, 3])
def test_a_stray_write_breaks_the_canary(cuda, size, shift):
    for op, element in (("write_behind", size + 2), ("write_in_front", -3)):
        report, _ = call(cuda, op, size, Variant(shift=shift))
        (fault,) = report.faults
        assert (fault.kind, fault.argument, fault.element, fault.count) == ("canary", "target", element, 1)
        assert not report.device_lost
        assert f"`target` (int32[{size}]): element {element}" in str(fault)
    assert_works(cuda)


@pytest.mark.parametrize("size", SIZES)
def test_a_written_input_is_found(cuda, size):
    report, _ = call(cuda, "write_input", size)
    (fault,) = report.faults
    assert (fault.kind, fault.argument, fault.element) == ("input-write", "source", 2)
    assert_works(cuda)


@pytest.mark.parametrize(
    ("op", "kind", "text"),
    [
        ("trap", "fault", "cudaError(LaunchFailure|IllegalInstruction)"),
        ("write_nowhere", "fault", "cudaErrorIllegalAddress"),
        ("never_end", "hang", "no end within 2 s"),
    ],
)
def test_a_crash_or_hang_is_reported_and_the_next_call_works(cuda, op, kind, text):
    assert_works(cuda)
    report, _ = call(cuda, op)
    (fault,) = report.faults
    assert fault.kind == kind
    assert re.search(text, fault.detail)
    assert report.device_lost
    assert_works(cuda)


def test_a_refused_launch_is_an_error_and_harms_nothing(cuda):
    report, _ = call(cuda, "too_large")
    assert report.error is not None
    assert "too_large: launch refused: invalid" in report.error
    assert not report.device_lost
    assert_works(cuda)


def test_work_left_on_another_stream_shows(cuda):
    assert_works(cuda)
    for _ in range(5):
        report, target = call(cuda, "other_stream")
        assert not report.device_lost
        assert (target == -1).all(), "the kernel did not wait for its stream, and yet its results are right"


def test_a_launcher_that_waits_for_its_stream_cannot_be_captured(cuda):
    script = f"""
import numpy
from pathlib import Path
from opgold.kernels import build, runtime
device = runtime.device("cuda")
library = build.kernel_library(Path({str(MISBEHAVING)!r}), target="cuda")
arrays = [device.upload(numpy.arange(5, dtype=numpy.int32)) for _ in range(2)]
tensors = [("source", arrays[0], "in"), ("target", arrays[1], "out")]
print(min(device.time(library, "work", tensors=tensors, attributes=[], launches=20, samples=5)))
try:
    device.time(library, "wait_for_stream", tensors=tensors, attributes=[], launches=2, samples=2)
except RuntimeError as refusal:
    print(refusal)
print(max(device.time(library, "work", tensors=tensors, attributes=[], launches=20, samples=5)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env=devices.narrowed(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    least, refusal, greatest = done.stdout.splitlines()
    assert 0 < float(least) < 1e-3
    assert 0 < float(greatest) < 1e-3
    assert "capture" in refusal
