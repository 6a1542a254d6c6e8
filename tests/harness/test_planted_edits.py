"""Small wrong edits of real kernels and golden models, made one at a time: each is found, and says where.

Bugs that small kernels of their own show stand in the zoo (tests/zoo)."""

import importlib
import inspect
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from opgold.harness import casefile
from opgold.harness.backends.native import Native
from opgold.harness.check import check_op, run_case
from opgold.kernels import build
from opgold.reference import schema

EXAMPLES = 150


class Edited(Native):
    """The emulator with one edit in a copy of the kernels."""

    def __init__(self, folder, file, old, new):
        super().__init__("cuda-emu", "checked")
        self.folder = folder / "cuda"
        shutil.copytree(build.source_of("get_padding_offset").parent, self.folder)
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new))

    def source(self, op):
        return self.folder / f"{op}.cu"


OUT_OF_SIGHT = ("bounds", "race", "inputs")  # oracles whose findings must name the line

EDITS = {
    "row bound": (
        "get_padding_offset",
        "packed_tokens.cuh",
        "if (row < tokens && row >=",
        "if (row <= tokens && row >=",
        "bounds",
    ),
    "column bound": (
        "get_padding_offset",
        "packed_tokens.cuh",
        "place.index < width",
        "place.index <= width",
        "bounds",
    ),
    "batch ids shifted": (
        "speculate_pre_process",
        "packed_tokens.cuh",
        "batch_id = static_cast<int32_t>(place.slot);",
        "batch_id = static_cast<int32_t>(place.slot) + 1;",
        "values",
    ),
    "barrier removed": (
        "get_padding_offset",
        "packing.cuh",
        "__syncthreads();  // `storage` is used again, and `prefix` may be read",
        "",
        "race",
    ),
    "state read without a barrier": (
        "update_attn_mask_offsets",
        "attn_mask.cuh",
        "starts(batch.cu_seqlens_q) { __syncthreads(); }",
        "starts(batch.cu_seqlens_q) {}",
        "race",
    ),
    "vector past a row's end": (
        "rebuild_padding",
        "rows.cuh",
        "(width - head) / kPerVector",
        "(width - head + kPerVector - 1) / kPerVector",
        "bounds",
    ),
    "vector off its alignment": (
        "rebuild_padding",
        "rows.cuh",
        "from % sizeof(uint4) == to % sizeof(uint4)",
        "true",
        "bounds",
    ),
    "input written": (
        "speculate_get_seq_lens_output",
        "speculate_get_seq_lens_output.cu",
        "if (b < bsz) seq_lens_output[b] =",
        "if (b < bsz) const_cast<int32_t*>(seq_lens_encoder)[b] = 0, seq_lens_output[b] =",
        "inputs",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edit_of_a_kernel_is_found(edit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    op, file, old, new, oracle = EDITS[edit]
    result = check_op(op, Edited(tmp_path, file, old, new), EXAMPLES, 0)
    found = [finding for finding in result.findings if finding.oracle == oracle]
    assert found, result.findings
    assert all(finding.saved for finding in found)
    if oracle in OUT_OF_SIGHT:
        assert any(f"{file}:" in finding.message and "thread" in finding.message for finding in found), found


BRANCHES = {
    "draft or prompt": (
        "get_padding_offset",
        "drafts[b] if from_draft[b]",
        "drafts[b] if not from_draft[b]",
    ),
    "last row or first": ("rebuild_padding", "if enc[b] > 0 else tokens", "if enc[b] <= 0 else tokens"),
    "one row or one a token": (
        "speculate_pre_process",
        "np.where(seq_lens_encoder > 0, np.minimum(seq_len, 1), seq_len)",
        "np.where(seq_lens_encoder <= 0, np.minimum(seq_len, 1), seq_len)",
    ),
    "image or text": ("update_attn_mask_offsets", "decode_states[b, 0] == 2", "decode_states[b, 0] != 2"),
    "rollback kept": ("update_attn_mask_offsets", "mask_rollback[b] = 0", "pass"),
    "state kept": ("update_attn_mask_offsets", "if this > 1:", "if this > 2:"),
}


@pytest.mark.parametrize("branch", BRANCHES)
def test_swapped_branch_of_a_golden_model_is_found_without_any_kernel(branch, monkeypatch):
    op, old, new = BRANCHES[branch]
    sound = schema.load(op)
    module = importlib.import_module(f"opgold.reference.{op}")
    source = inspect.getsource(module)
    assert old in source
    namespace = dict(vars(module))
    exec(compile(source.replace(old, new), str(Path(module.__file__)), "exec"), namespace)
    monkeypatch.setattr("opgold.harness.case.load", lambda name: replace(sound, model=namespace[op]))
    from opgold.harness.show import judge_case

    findings = [f for path in casefile.regressions(op) for f in judge_case(casefile.read(path))[1]]
    assert {finding.oracle for finding in findings} & {"expect", "metamorphic"}, findings


def test_kernel_that_does_not_compile_shows_the_line(tmp_path):
    backend = Edited(tmp_path, "get_padding_offset.cu", "const int blocks = ", "const int blocs = ")
    (finding,) = check_op("get_padding_offset", backend, 1, 0).findings
    assert finding.oracle == "build"
    assert "get_padding_offset.cu:" in finding.message
    assert "blocks" in finding.message


def test_process_lives_on_after_findings(tmp_path):
    backend = Edited(tmp_path, "packed_tokens.cuh", "row >= tokens", "row > tokens")
    case = casefile.read(casefile.regressions("get_padding_offset")[0])
    for _ in range(200):
        assert run_case(case, backend)[1]
    assert run_case(case, Native("cuda-emu", "checked"))[1] == []
