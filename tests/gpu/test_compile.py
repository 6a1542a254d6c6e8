"""Every CUDA unit compiles for sm_80 and sm_90 without a warning, where nvcc is. No GPU is needed.

What sm_80 takes, sm_90 takes: a unit that does not ask for the architecture is compiled for the former alone.
"""

import subprocess
from pathlib import Path

import pytest

from opgold.kernels import build, sources

FOLDERS = ("cuda", "bench", "bindings")
UNITS = [path for folder in FOLDERS for path in sorted((build.KERNELS / folder).glob("*.cu"))]
PLANTED = sorted(Path(__file__).parent.glob("planted/*.cu"))
ASKS = "__CUDA_ARCH__"
UNITS_80 = [*UNITS, *PLANTED]
UNITS_90 = [unit for unit in UNITS_80 if any(ASKS in file.read_text() for file in sources.with_includes([unit]))]


@pytest.fixture(scope="module")
def nvcc():
    try:
        return build.find_compiler("cuda")
    except build.MissingCompiler as reason:
        pytest.skip(str(reason))


@pytest.fixture
def said_of(nvcc, tmp_path):
    """What nvcc says of a unit for an architecture, host code and device code; empty if it takes it."""

    def said_of(unit, number):
        flags = ["-std=c++17", "-O2", "-cubin", f"-arch=sm_{number}", "-Werror", "all-warnings", f"-I{build.KERNELS}"]
        command = [nvcc, *flags, str(unit), "-o", str(tmp_path / "unit.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stderr or done.stdout or "failed") if done.returncode else ""

    return said_of


def named(path):
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("unit", UNITS_80, ids=named)
def test_compiles_for_sm_80(unit, said_of):
    assert said_of(unit, 80) == ""


@pytest.mark.parametrize("unit", UNITS_90, ids=named)
def test_compiles_for_sm_90(unit, said_of):
    assert said_of(unit, 90) == ""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("void launch() { undeclared(); }", "undeclared"),
        ("__global__ void kernel(int* x) { int unused = 1; *x = 2; }", "unused"),
        ("__global__ void kernel(int* x) { *x = 2; } void launch(int* x) { kernel<<<1, 1>>>(x, 3); }", "too many"),
    ],
    ids=["host code", "a warning", "a launch"],
)
def test_a_mistake_is_refused(text, complaint, said_of, tmp_path):
    unit = tmp_path / "wrong.cu"
    unit.write_text(text + "\n")
    assert complaint in said_of(unit, 80)
