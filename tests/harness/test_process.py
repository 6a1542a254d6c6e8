"""A device process that dies, hangs or raises: what its parent sees, and that the next one works."""

import os
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from opgold.harness.backends.process import DeviceProcess, ProcessLost

PLANTED = (sys.executable, str(Path(__file__).parent / "planted" / "worker.py"))


def opened(target="fake"):
    return DeviceProcess(target, PLANTED)


def ask(process, op, tensors=(), limit=10.0):
    return process.ask({"op": op, "tensors": list(tensors), "limit": limit}, limit)


@pytest.fixture(scope="module")
def process():
    process = opened()
    yield process
    process.close()


def test_written_arrays_and_the_report_come_back(process):
    arrays = [np.arange(3, dtype=np.int32), np.zeros((2, 0)), np.full((2, 2), 1.5, ml_dtypes.bfloat16)]
    report, written = ask(
        process, "add", [("x", arrays[0], "in"), ("y", arrays[1], "out"), ("z", arrays[2], "inout"), ("n", None, "in")]
    )
    assert report.addresses["pid"] == process.pid != os.getpid()
    assert list(written) == ["y", "z"]
    assert written["z"].dtype == ml_dtypes.bfloat16
    assert (written["z"] == 2.5).all()
    assert written["y"].shape == (2, 0)


def test_an_exception_is_raised_here_as_itself_and_the_process_lives_on(process):
    with pytest.raises(ValueError, match="y: array is not contiguous"):
        ask(process, "refuse")
    with pytest.raises(RuntimeError, match="Unpicklable: no way"):
        ask(process, "odd")
    assert process.alive
    ask(process, "add")


def test_what_a_kernel_prints_does_not_mix_with_standard_output(process, capfd):
    ask(process, "print")
    assert "printed by a kernel" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("op", "text"), [("die", "the process died: SIGSEGV"), ("leave", "the process ended with exit code 3")]
)
def test_a_death_is_named(op, text):
    process = opened()
    with pytest.raises(ProcessLost, match=text) as lost:
        ask(process, op)
    assert lost.value.kind == "fault"
    assert not process.alive


def test_a_hang_is_cut_short_and_the_process_ended():
    process = opened()
    begun = time.monotonic()
    with pytest.raises(ProcessLost, match=r"no answer within 0\.3 s") as lost:
        ask(process, "hang", limit=0.3)
    assert lost.value.kind == "hang"
    assert time.monotonic() - begun < 5
    assert not process.alive


def test_a_process_killed_between_calls_is_noticed():
    process = opened()
    os.kill(process.pid, 9)
    with pytest.raises(ProcessLost, match="SIGKILL"):
        ask(process, "add")


def test_a_start_that_fails_says_why():
    with pytest.raises(ProcessLost, match="the process died: SIGABRT"):
        opened("broken")
    with pytest.raises(FileNotFoundError, match="no such target"):
        opened("missing")


def test_a_process_ends_with_its_owner():
    process = opened()
    pid = process.pid
    del process
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
