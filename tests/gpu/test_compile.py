"""Every CUDA unit compiles for sm_80 and sm_90 without a warning, where nvcc is. No GPU is needed."""

import subprocess
from pathlib import Path

import pytest

from opgold.kernels import build

FOLDERS = ("cuda", "bench", "bindings")
UNITS = [path for folder in FOLDERS for path in sorted((build.KERNELS / folder).glob("*.cu"))]
PLANTED = sorted(Path(__file__).parent.glob("planted/*.cu"))
ARCHITECTURES = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in (80, 90)]


@pytest.fixture(scope="module")
def nvcc():
    try:
        return build.find_compiler("cuda")
    except build.MissingCompiler as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("unit", UNITS + PLANTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_compiles(unit, nvcc, tmp_path):
    flags = ["-std=c++17", "-O2", "-c", "-Xcompiler", "-fPIC", "-Werror", "all-warnings", f"-I{build.KERNELS}"]
    command = [nvcc, *flags, *ARCHITECTURES, str(unit), "-o", str(tmp_path / "unit.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
