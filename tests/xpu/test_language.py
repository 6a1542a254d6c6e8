"""What an XPU's compiler would refuse, or get wrong, is told with its line; right code is not."""

import pytest

from opgold.kernels import build, xpu_language

pytestmark = pytest.mark.skipif(bool(xpu_language.unavailable()), reason=xpu_language.unavailable() or "clang is here")

HEAD = """#include <xpu/kernel/cluster.h>
typedef long long Int64;
static inline __device__ int first(const int* row) { return row[0]; }
__global__ void op(__global_ptr__ const int* x, __global_ptr__ Int64* y, Int64 n) {
  int row[4];
  __shared__ int tile[4];
"""
LINE = HEAD.count("\n") + 1


def complaints(tmp_path, statement):
    unit = tmp_path / "op.xpu"
    unit.write_text(HEAD + statement + "\n  GM2LM(x, row, 4); tile[0] = row[0]; y[0] = tile[0] + n;\n}\n")
    return xpu_language.complaints(unit)


@pytest.mark.parametrize(
    ("wrong", "right", "says"),
    [
        ("const int* p = x + 1; y[0] = *p;", "__global_ptr__ const int* p = x + 1; y[0] = *p;", "cannot initialize"),
        ("y[0] = first(x);", "y[0] = first(row);", "no matching function"),
        ("const int* p = tile; y[0] = *p;", "__shared_ptr__ const int* p = tile; y[0] = *p;", "cannot initialize"),
        ("LM2GM(row, tile, 4);", "LM2GM(row, y, 8);", "no matching function"),
        ("GM2SM(x, row, 4);", "GM2SM(x, tile, 4);", "no matching function"),
        ("y[0] = n % 3;", "y[0] = (int)n % 3;", "64-bit `%`"),
        ("n /= 3;", "n >>= 1;", "64-bit `/=`"),
        ("GM2LM(x, row, n * sizeof(int));", "GM2LM(x, row, (int)n * sizeof(int));", "loses integer precision"),
        ("const int k = n; y[0] = k;", "const int k = (int)n; y[0] = k;", "loses integer precision"),
        ("const auto f = [](int i) { return i; }; auto g = f; if constexpr (true) y[0] = g(1);", "", "C++17"),
        ("float16 h(3); y[0] = (int)(float)h;", "float16 h(3.f); y[0] = (int)(float)h;", "deleted"),
        ("y[0] = std::min(1, 2);", "y[0] = min(1, 2);", "std"),
    ],
)
def test_fault_is_told_at_its_line(tmp_path, wrong, right, says):
    found = complaints(tmp_path, wrong)
    assert any(f"op.xpu:{LINE}: " in text and says in text for text in found), found
    assert complaints(tmp_path, right) == []


def test_the_build_refuses_it(tmp_path):
    unit = tmp_path / "op.xpu"
    unit.write_text(HEAD + "y[0] = first(x);\n}\n")
    unit.with_suffix(".cc").write_text("")
    with pytest.raises(build.BuildError, match=rf"not XPU device code:\n.*op.xpu:{LINE}: no matching function"):
        build.kernel_library(unit, target="xpu-emu")


@pytest.mark.parametrize("source", sorted((build.KERNELS / "xpu").glob("*.xpu")), ids=lambda path: path.stem)
def test_own_kernels_are_xpu_device_code(source):
    assert xpu_language.complaints(source) == []
