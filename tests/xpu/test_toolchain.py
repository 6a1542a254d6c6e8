"""The backend `xpu`: what it asks for, how it calls the vendor's compiler, and that its host code compiles."""

import subprocess
from pathlib import Path

import pytest

from opgold.harness import backends
from opgold.kernels import build, xpu_toolchain
from opgold.kernels.compilers import MissingCompiler

DECLARATIONS = Path(__file__).parent / "declarations"
VARIABLES = [f"{part}_{kind}" for part in ("CLANG", "XRE", "XDNN") for kind in ("PATH", "INC_DIR", "LIB_DIR")]


@pytest.fixture(autouse=True)
def no_toolchain(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def folder(path: Path, *names: str) -> str:
    for name in names:
        (path / name).mkdir(parents=True)
    return str(path)


# Writes what it was asked to do, and the files that the real one would.
COMPILER = """#!/bin/sh
echo "$@" >> {log}
while [ $# -gt 0 ]; do
  case $1 in
    -o) : > "$2"; shift ;;
    --basename) : > "$2.o"; : > "$2.device.bin.o"; shift ;;
  esac
  shift
done
"""


@pytest.fixture
def toolchain(tmp_path, monkeypatch):
    clang = tmp_path / "xtdk" / "bin" / "clang++"
    clang.parent.mkdir(parents=True)
    clang.write_text(COMPILER.format(log=tmp_path / "calls"))
    clang.chmod(0o755)
    monkeypatch.setenv("CLANG_PATH", str(tmp_path / "xtdk"))
    monkeypatch.setenv("XRE_PATH", folder(tmp_path / "xre", "include", "so"))
    monkeypatch.setenv("XDNN_INC_DIR", folder(tmp_path / "xdnn", "headers") + "/headers")
    monkeypatch.setenv("XDNN_LIB_DIR", folder(tmp_path / "xdnn", "lib") + "/lib")
    monkeypatch.setenv("OPGOLD_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_all_that_is_missing_is_told_at_once(tmp_path, monkeypatch):
    with pytest.raises(MissingCompiler) as told:
        xpu_toolchain.find()
    for part in ("CLANG_PATH", "XRE_PATH", "XDNN_PATH"):
        assert part in str(told.value)
    monkeypatch.setenv("XRE_PATH", folder(tmp_path / "xre", "include", "so"))
    with pytest.raises(MissingCompiler) as told:
        xpu_toolchain.find()
    assert "XRE_PATH" not in str(told.value)


def test_backend_says_why_it_is_unavailable():
    assert "CLANG_PATH" in backends.Isolated("xpu").unavailable()


def test_kernels_are_compiled_as_the_plugin_does(toolchain):
    built = build.kernel_library(build.source_of("get_padding_offset", "xpu"), target="xpu")
    assert built.exists()
    device, host, link = (toolchain / "calls").read_text().splitlines()[-3:]
    for flag in ("-std=c++11", "--xpu-arch=xpu3", "-D__XPU3__", "-fno-builtin", "-fxpu-launch-return"):
        assert flag in device.split()
    assert "get_padding_offset.xpu" in device
    assert "--xpu-host-only" in host
    assert "-DOPGOLD_XPU" in host
    assert "get_padding_offset.cc" in host
    for part in ("xpu3_get_padding_offset.o", "xpu3_get_padding_offset.device.bin.o", "-lxpurt", "-lxpuapi"):
        assert part in link


@pytest.mark.parametrize("unit", ["bindings/device_xpu.cc"])
def test_host_code_compiles_against_the_runtime_it_expects(unit):
    compiler = build.find_compiler("cuda-emu")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-DOPGOLD_XPU", "-fsyntax-only"]
    includes = [f"-I{build.KERNELS}", f"-I{DECLARATIONS}"]
    command = [compiler, *flags, *includes, str(build.KERNELS / unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
