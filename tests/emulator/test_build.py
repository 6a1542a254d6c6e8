"""Compile on demand: one build for each content, messages on the original lines, a way out without a compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opgold.kernels import build, runtime, symbolize

UNIT = """#include "bindings/export.h"
#include "part.cuh"

void launch(opgold::Stream stream, opgold::Tensor<int32_t, 1> y) { fill<<<1, 4, 0, stream>>>(y.data, value); }

OPGOLD_EXPORT(fill, launch)
"""
PART = """#pragma once

constexpr int value = 3;

__global__ void fill(int32_t* y, int v) {
  __shared__ int tile[4];
  tile[threadIdx.x] = v;
  y[threadIdx.x] = tile[threadIdx.x];
}
"""


DEVICE = build.device_library("cuda-emu")


@pytest.fixture
def unit(tmp_path, monkeypatch):
    """A unit with a header of its own, in an empty cache; the emulator itself is not built anew."""
    monkeypatch.setenv("OPGOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "device_library", lambda target: DEVICE)
    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "part.cuh").write_text(PART)
    source = folder / "fill.cu"
    source.write_text(UNIT)
    return source


def run(library: Path) -> list[int]:
    y = np.zeros(4, np.int32)
    report = runtime.device("cuda-emu").call(library, "fill", tensors=[("y", y, "out")], attributes=[])
    assert report.error is None
    assert report.faults == []
    return y.tolist()


def test_equal_content_is_built_once(unit):
    first = build.kernel_library(unit, target="cuda-emu", flavour="plain")
    stamp = first.stat().st_mtime_ns
    assert build.kernel_library(unit, target="cuda-emu", flavour="plain") == first
    assert first.stat().st_mtime_ns == stamp
    assert run(first) == [3] * 4
    assert [path for path in first.parent.iterdir() if path.suffix not in {".so", ".lock"}] == []


def test_an_included_header_is_part_of_the_content(unit):
    first = build.kernel_library(unit, target="cuda-emu", flavour="plain")
    header = unit.parent / "part.cuh"
    header.write_text(PART.replace("value = 3", "value = 8"))
    second = build.kernel_library(unit, target="cuda-emu", flavour="plain")
    assert second != first
    assert (run(first), run(second)) == ([3] * 4, [8] * 4)


def test_errors_stand_on_the_original_line(unit):
    header = unit.parent / "part.cuh"
    header.write_text(PART.replace("= v;", "= w;"))
    with pytest.raises(build.BuildError, match=rf"(?s){header}:7:.*w"):
        build.kernel_library(unit, target="cuda-emu", flavour="plain")
    assert list((unit.parent.parent / "cache").glob("*.part")) == []


def test_many_processes_build_once(unit):
    script = (
        "import sys, pathlib; from opgold.kernels import build; "
        f"build.device_library = lambda target: pathlib.Path({str(DEVICE)!r}); "
        f"print(build.kernel_library({str(unit)!r}, target='cuda-emu', flavour='plain'))"
    )
    jobs = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    paths = {job.communicate()[0].strip() for job in jobs}
    assert len(paths) == 1
    assert run(Path(paths.pop())) == [3] * 4


def test_a_missing_compiler_is_named_with_a_way_out(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("OPGOLD_CXX", "no-such-compiler")
    with pytest.raises(build.MissingCompiler, match=r"no-such-compiler.*install g\+\+"):
        build.find_compiler("cuda-emu")


def test_opgold_cxx_goes_before_cxx(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("OPGOLD_CXX", os.environ.get("OPGOLD_CXX") or "g++")
    assert build.find_compiler("cuda-emu").endswith(os.environ["OPGOLD_CXX"].split("/")[-1])


@pytest.mark.parametrize(("target", "flavour"), [("gpu", "plain"), ("cuda-emu", "fast")])
def test_unknown_names_are_refused(unit, target, flavour):
    with pytest.raises(ValueError, match="unknown"):
        build.kernel_library(unit, target=target, flavour=flavour)


def test_coverage_flavour_runs(unit):
    assert run(build.kernel_library(unit, target="cuda-emu", flavour="coverage")) == [3] * 4


def test_symbolize_knows_nothing_of_nonsense(unit):
    library = build.kernel_library(unit, target="cuda-emu", flavour="plain")
    assert symbolize.frames(library, 0) == []
    assert symbolize.frames(library, 1 << 40) == []
