"""The pytest plugin: a test for each op, backend and case; a backend that cannot run is skipped or fails, as asked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opgold.harness import backends, casefile
from opgold.reference import schema

TESTS = Path(__file__).parents[1] / "test_ops.py"
OP = "speculate_get_seq_lens_output"
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}


def run(*options, environment=None):
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(TESTS), *options]
    given = {**os.environ, **(environment or {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=given)


def test_a_test_for_every_op_and_case():
    listed = run("--collect-only").stdout
    for op in schema.ops():
        for vendor in schema.load(op).vendors:
            assert f"test_generated[{vendor}-emu-{op}]" in listed
        for path in casefile.regressions(op):
            assert f"test_regression[xpu-emu-{op}-{path.stem}]" in listed


def test_an_op_passes():
    result = run("-k", OP)
    assert result.returncode == 0, result.stdout
    assert f"{len(backends.DEFAULT) * (len(casefile.regressions(OP)) + 1)} passed" in result.stdout


@pytest.mark.skipif(not backends.get("cuda").unavailable(), reason="a GPU can be used here")
def test_an_unavailable_backend_is_skipped_with_its_reason_and_fails_where_it_is_required():
    options = ("--opgold-backend", "cuda", "-k", f"generated and {OP}")
    skipped = run(*options, environment=HIDDEN)
    assert skipped.returncode == 0
    assert "1 skipped" in skipped.stdout
    assert "backend cuda is not available: " in skipped.stdout
    required = run(*options, "--opgold-require", environment=HIDDEN)
    assert required.returncode == 1
    assert "backend cuda is not available: " in required.stdout


def test_an_op_of_one_vendor_is_a_test_of_its_backends_alone():
    listed = run("-k", "adjust_batch", "--collect-only").stdout
    assert "test_generated[xpu-emu-adjust_batch]" in listed
    assert "cuda-emu-adjust_batch" not in listed


def test_an_unknown_backend_is_a_usage_error():
    result = run("--opgold-backend", "cdua")
    assert (
        "--opgold-backend: no backend 'cdua'; there are cuda-emu, xpu-emu, cuda, xpu" in result.stdout + result.stderr
    )
    assert result.returncode not in (0, 1)
    assert "Traceback" not in result.stdout + result.stderr
