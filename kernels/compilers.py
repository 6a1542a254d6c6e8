"""The compilers of the targets: where they are found, which they are, and what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

TARGETS = ("cuda-emu", "xpu-emu", "cuda", "xpu")


class BuildError(RuntimeError):
    """A compiler refused; the message is the compiler's, on the original file and line."""


class MissingCompiler(RuntimeError):
    """No compiler for a target; the message says how to get one."""


def find_compiler(target: str) -> str:
    """The compiler's path for `target`; raises MissingCompiler with a way out."""
    if target == "xpu":
        from opgold.kernels import xpu_toolchain

        return str(xpu_toolchain.find().clang)
    if target == "cuda":
        names = [os.environ.get("NVCC"), "nvcc"]
        homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
        names += [str(Path(home) / "bin" / "nvcc") for home in homes]
        names.append("/usr/local/cuda/bin/nvcc")
        way_out = "install the CUDA toolkit, or set NVCC to its nvcc"
    elif target in ("cuda-emu", "xpu-emu"):
        names = [os.environ.get("OPGOLD_CXX"), os.environ.get("CXX"), "g++", "clang++", "c++"]
        way_out = "install g++ 11 or clang 14 or later (Debian: apt install g++), or set OPGOLD_CXX"
    else:
        raise ValueError(f"unknown target {target!r}; there are {', '.join(TARGETS)}")
    tried = [name for name in names if name]
    for name in tried:
        found = shutil.which(name)
        if found:
            return found
    raise MissingCompiler(f"no compiler for {target}: tried {', '.join(tried)}; {way_out}")


def run(command: list[str], cwd: Path | None = None) -> None:
    """Run a compiler. Raises BuildError."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode != 0:
        raise BuildError(f"{Path(command[0]).name} failed:\n{done.stderr or done.stdout}")


@lru_cache
def version(compiler: str) -> str:
    """What a compiler says of itself; names its version."""
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout


def is_clang(compiler: str) -> bool:
    """Whether it is a clang, by whatever name it is called."""
    return "clang" in version(compiler)


def architectures(arch: str | None) -> list[str]:
    """nvcc's flags for one architecture; by default for the GPUs found, or sm_80 and sm_90."""
    names = [arch] if arch else _native_architectures() or ["sm_80", "sm_90"]
    return [f"-gencode=arch=compute_{name[3:]},code={name}" for name in names]


@lru_cache
def _native_architectures() -> list[str]:
    query = shutil.which("nvidia-smi")
    if not query:
        return []
    done = subprocess.run(
        [query, "--query-gpu=compute_cap", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    found = re.findall(r"^(\d+)\.(\d+)\s*$", done.stdout, re.MULTILINE) if done.returncode == 0 else []
    return sorted({f"sm_{major}{minor}" for major, minor in found})
