"""Coverage: what counts as device code, whose counts they are, and what is shown of them."""

import os
import subprocess
import sys

import pytest

from opgold.harness import check
from opgold.harness.gates import cobertura, counts, measure, reports, tools
from opgold.harness.gates.cobertura import Line, Tally
from opgold.harness.gates.counts import ROOT
from opgold.harness.gates.device_lines import device_lines
from opgold.kernels.build import find_compiler

OP = "speculate_get_seq_lens_output"

SOURCE = """#include "x.h"  // { __device__
struct Pair {
  int a, b;
  int sum() const {
    return a + b;
  }
  __device__ Pair(int x) : a{x},
      b{x} {
    b += 1;
  }
};
template <class T>
__global__ void
kernel(T* y) {
  if (y) {
    *y = [] { return 1; }();
  }
}
void launch(int n) {
  const auto f = [](int x) { return x; };
  kernel<<<1, 1>>>(f(n));
}
__device__ inline int one() { return '{'; }
void host() {}
"""


def test_device_code_is_what_is_marked():
    assert device_lines(SOURCE) == {7, 8, 9, 10, *range(12, 19), 23}


def test_gaps_are_ranges_of_lines():
    lines = {3: Line(0), 4: Line(0), 6: Line(0), 7: Line(2, 1, 2), 8: Line(1, 2, 2), 9: Line(5)}
    assert cobertura.gaps(lines) == "3-4, 6; not every way: 7"
    assert cobertura.gaps({8: lines[8], 9: lines[9]}) == ""
    tally = Tally.of([lines])
    assert (tally.lines, tally.ran, tally.branches, tally.taken, tally.complete) == (6, 3, 4, 3, False)
    assert cobertura.percent(999, 1000) == "99.9 %"
    assert cobertura.percent(9999, 10000) == "99.9 %", "not rounded up to all"
    assert cobertura.percent(0, 0) == "-"


def cover(out, *arguments):
    command = [sys.executable, "-m", "opgold", "cover", OP, "--examples", "5", "--out", str(out), *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=out.parent, stdout=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "200"}
    )


def test_runs_at_one_time_count_their_own(tmp_path):
    alone = cover(tmp_path / "alone", "--page", tmp_path / "page.md")
    shown, _ = alone.communicate(timeout=120)
    assert alone.returncode == 0, shown
    for side in ("golden", "cuda-emu", "xpu-emu"):
        assert any(line.split()[:2] == [OP, side] for line in shown.splitlines()), shown
    page = (tmp_path / "page.md").read_text()
    assert f"| {OP} | xpu-emu | " in page
    assert f"| kernels/cuda/{OP}.cu | 100.0 % | " in page

    together = [cover(tmp_path / "shared") for _ in range(2)]
    assert [run.wait(120) for run in together] == [0, 0]
    for report in (reports.DEVICE, reports.GOLDEN, reports.LAUNCHERS):
        expected = cobertura.read(tmp_path / "alone" / report)
        assert expected
        assert cobertura.read(tmp_path / "shared" / report) == expected
    left = sorted(entry.name for entry in (tmp_path / "shared").iterdir())
    assert left == [".lock", "device", "device.xml", "golden", "golden.xml", "launchers.xml"]
    assert f"{OP}.cu" in (tmp_path / "shared" / "device" / "index.html").read_text()

    device = cobertura.read(tmp_path / "shared" / reports.DEVICE)
    for vendor, suffix in (("cuda", ".cu"), ("xpu", ".xpu")):
        path = ROOT / "kernels" / vendor / f"{OP}{suffix}"
        marked = device_lines(path.read_text())
        assert set(device[path]) <= marked
        assert all(line.hits for line in device[path].values())
    launcher = cobertura.read(tmp_path / "shared" / reports.LAUNCHERS)[ROOT / "kernels" / "cuda" / f"{OP}.cu"]
    assert launcher
    assert not set(launcher) & device_lines((ROOT / "kernels" / "cuda" / f"{OP}.cu").read_text())


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(tools.PACKAGES, "no_such_module", "no-such-package")
    with pytest.raises(tools.Unmeasurable, match=r"needs no-such-package: pip install 'opgold\[gates\]'"):
        tools.require()


def test_a_process_that_dies_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(counts, "CHILD", "opgold.harness.gates.nothing")
    request = measure.Request(OP, ["cuda-emu"], 1, 0, str(tmp_path / "golden"), str(tmp_path / "outcomes"))
    with pytest.raises(check.ProcessDied, match=f"the process that ran {OP} died: .*No module named"):
        counts._run(request, tmp_path)


def test_gcov_is_that_of_the_compiler():
    command = tools.gcov_of(find_compiler("cuda-emu"))
    assert "gcov" in command
    assert tools.run([*command.split(), "--version"])
