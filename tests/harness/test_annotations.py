"""An annotation of a kernel that excuses nothing in any kept case of its op is a finding; one that does is not."""

from pathlib import Path

import pytest

from opgold.harness import check
from opgold.harness.backends.native import Native
from opgold.kernels import build

OP = "speculate_get_seq_lens_output"
KERNEL = """#include "bindings/annotations.h"
#include "output_lengths.cuh"
namespace opgold {{
namespace {{
__global__ void count(Lengths op) {{
  const int64_t slot = (blockIdx.x * int64_t(kThreads) + threadIdx.x) / {threads};
  if (slot >= op.bsz) return;
  OPGOLD_SAME_VALUE("they agree");
  op.output[slot] = op.rows(slot);
}}
void launch(Stream stream, const Lengths& op) {{
  count<<<unsigned(op.bsz * {threads} / kThreads + 1), kThreads, 0, stream>>>(op);
}}
}}  // namespace
}}  // namespace opgold
"""


class Elsewhere(Native):
    """The emulator, with a kernel of another folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__("cuda-emu", "checked")
        self.folder = folder

    def source(self, op: str) -> Path:
        return self.folder / f"{op}.cu"


@pytest.mark.parametrize(("threads", "idle"), [(1, True), (2, False)])
def test_annotation_without_effect_is_a_finding(tmp_path, threads, idle):
    header = Path(__file__).parents[1] / "zoo" / "cuda" / "output_lengths.cuh"
    (tmp_path / header.name).write_text(header.read_text())
    (tmp_path / f"{OP}.cu").write_text(KERNEL.format(threads=threads))
    result = check.check_op(OP, Elsewhere(tmp_path), 0, 0)
    assert result.kept
    assert [finding.oracle for finding in result.findings] == ["race"] * idle
    if idle:
        text = result.findings[0].message
        assert f'OPGOLD_SAME_VALUE("they agree"), {OP}.cu:8, excuses nothing' in text


def test_annotations_stand_beside_each_other_and_compile_away(tmp_path):
    unit = tmp_path / "alone.cu"
    unit.write_text(
        '#include "bindings/annotations.h"\n'
        'int both(int* y) {\n  OPGOLD_SAME_VALUE("why");\n  { OPGOLD_ORDERED("why"); *y = 1; }\n'
        '  OPGOLD_ORDERED("so");\n  return *y;\n}\n'
    )
    for flavour in ("checked", "plain", "coverage"):
        assert build.kernel_library(unit, target="cuda-emu", flavour=flavour).exists()


def test_a_reason_must_be_given(tmp_path):
    unit = tmp_path / "why.cu"
    for flavour in ("checked", "plain"):
        unit.write_text('#include "bindings/annotations.h"\nvoid f() { OPGOLD_SAME_VALUE(""); }\n')
        with pytest.raises(build.BuildError, match="say why"):
            build.kernel_library(unit, target="cuda-emu", flavour=flavour)


def test_device_code_of_an_xpu_may_be_annotated(tmp_path):
    unit = tmp_path / "annotated.xpu"
    unit.write_text(
        '#include <xpu/kernel/cluster.h>\n#include "bindings/annotations.h"\n'
        "__global__ void k(__global_ptr__ int* y) {\n"
        '  OPGOLD_SAME_VALUE("why");\n  { OPGOLD_ORDERED("why"); y[0] = 1; }\n}\n'
    )
    unit.with_suffix(".cc").write_text("")
    assert build.kernel_library(unit, target="xpu-emu", strict=True).exists()
