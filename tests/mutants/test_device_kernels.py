"""The kernels of this repository: all of their device code is read, and every operator finds work."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from opgold.kernels import build
from opgold.kernels.mutants import mutants_of
from opgold.kernels.mutants.operators import OPERATORS, table
from opgold.kernels.mutants.parse import parse
from opgold.kernels.mutants.writer import flat
from opgold.kernels.sources import SUFFIXES

SOURCES = [
    (vendor, path) for vendor in SUFFIXES for path in sorted((build.KERNELS / vendor).glob(f"*{SUFFIXES[vendor]}"))
]


@cache
def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines()


@pytest.mark.parametrize(("vendor", "source"), SOURCES, ids=[path.name for _, path in SOURCES])
def test_device_code_is_read_and_has_mutants(vendor, source):
    found = mutants_of(source, vendor)
    assert found
    for mutant in found:
        behind = lines_of(mutant.file)[mutant.line - 1 : mutant.line + 20]
        assert flat("\n".join(behind)[mutant.column - 1 :]).startswith(mutant.before[:40]), mutant
        assert mutant.before != mutant.after


def test_every_operator_occurs_and_is_described():
    assert {m.operator for vendor, source in SOURCES for m in mutants_of(source, vendor)} == set(OPERATORS)


def test_device_code_that_cannot_be_read_is_an_error(tmp_path: Path):
    unit = tmp_path / "broken.cu"
    unit.write_text("__global__ void broken(int* x) { x[0] = = 1; }\n")
    with pytest.raises(SyntaxError, match=r"broken.cu:1: cannot be parsed"):
        parse(unit, "cuda")


def test_what_directives_leave_out_has_no_mutants(tmp_path: Path):
    unit = tmp_path / "left_out.cu"
    unit.write_text(
        "__device__ int f(int a) {\n#ifdef OPGOLD_EMULATOR\n  return a + 1;\n#else\n  return a - 1;\n#endif\n}\n"
        "__device__ int g(int a) {\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n  return a + 2;\n#endif\n"
        "  return a;\n}\n"
    )
    assert {m.line for m in mutants_of(unit, "cuda")} == {3}


def test_without_its_parser_there_is_a_way_out():
    script = (
        "import sys\n"
        "sys.modules['tree_sitter'] = None\n"
        "from opgold.harness import cli\n"
        "from opgold.kernels import build, mutants\n"
        "try:\n"
        "    mutants.mutants_of(build.source_of('get_padding_offset'), 'cuda')\n"
        "except build.MissingCompiler as missing:\n"
        "    print(missing)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "mutants of device code need tree_sitter: pip install 'opgold[mutants]'\n"


def test_the_table_of_operators_has_four_columns():
    rows = table().splitlines()
    assert len(rows) == len(OPERATORS) + 2
    assert all(len(re.split(r"(?<!\\)\|", row)) == 6 for row in rows)
