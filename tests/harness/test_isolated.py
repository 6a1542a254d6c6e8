"""The isolated backend on the emulator: the same as the native one, and unharmed by launchers that die or hang."""

from pathlib import Path

import numpy as np
import pytest

from opgold.harness.backends.base import Variant
from opgold.harness.backends.isolated import Isolated
from opgold.harness.backends.native import Native
from opgold.harness.bench.row import workloads
from opgold.harness.runner import arguments
from opgold.kernels.build import BuildError, MissingCompiler

LAUNCHERS = Path(__file__).parent / "planted" / "launchers.cu"
PLAIN = Variant()


@pytest.fixture(scope="module")
def isolated():
    backend = Isolated("cuda-emu", time_limit=0.5, grace=0.5)
    if reason := backend.unavailable():
        pytest.skip(reason)
    yield backend
    backend.close()


def call(backend, op, source=LAUNCHERS, variant=PLAIN):
    values, target = np.arange(5, dtype=np.int32), np.full(5, -1, np.int32)
    tensors = [("source", values, "in"), ("target", target, "out")]
    return backend.call_source(source, op, tensors, [("blocks", 1)], variant), target


def test_arrays_are_updated_in_place(isolated):
    report, target = call(isolated, "work")
    assert report.error is None
    assert not report.faults
    assert target.tolist() == [1, 2, 3, 4, 5]
    assert set(report.addresses) == {"source", "target"}


def test_a_variant_reaches_the_device(isolated):
    report, _ = call(isolated, "work", variant=Variant("random", shift=3, seed=7))
    assert report.addresses["target"] % 256 == 12


def test_what_a_launcher_refuses_is_no_fault(isolated):
    report, _ = call(isolated, "refuse")
    assert report.error == "source: is refused, 1 blocks or not"
    assert not report.faults
    assert not report.device_lost


@pytest.mark.parametrize(
    ("op", "kind", "text"),
    [("die", "fault", "the process died: SIGKILL"), ("sleep_on", "hang", "no answer within 1 s")],
)
def test_a_lost_process_is_a_fault_of_its_call_alone(isolated, op, kind, text):
    report, target = call(isolated, op)
    assert [(fault.kind, fault.detail) for fault in report.faults] == [(kind, text)]
    assert report.device_lost
    assert (target == -1).all()
    report, target = call(isolated, "work")
    assert not report.faults
    assert target.tolist() == [1, 2, 3, 4, 5]


def test_exceptions_are_raised_as_themselves(isolated, tmp_path):
    broken = tmp_path / "broken.cu"
    broken.write_text("this is no kernel\n")
    with pytest.raises(BuildError, match="this"):
        call(isolated, "broken", broken)
    with pytest.raises(RuntimeError, match="opgold_op_missing"):
        call(isolated, "missing")
    report, _ = call(isolated, "work")
    assert not report.faults


def test_an_op_runs_as_on_the_native_backend(isolated):
    case, _ = next(workloads(["speculate_get_seq_lens_output"], "empty"))
    results = []
    for backend in (isolated, Native("cuda-emu", "plain")):
        values = arguments(case, poison=0)
        assert not backend.call(case.signature, values, Variant()).faults
        results.append(values["seq_lens_output"])
    assert (results[0] == results[1]).all()
    assert (results[0] == 5).all()


def test_a_target_without_a_compiler_is_unavailable(monkeypatch):
    monkeypatch.setenv("PATH", "")
    for name in ("OPGOLD_CXX", "CXX"):
        monkeypatch.delenv(name, raising=False)
    assert "no compiler for cuda-emu" in Isolated("cuda-emu").unavailable()
    with pytest.raises(MissingCompiler):
        call(Isolated("cuda-emu"), "work")
