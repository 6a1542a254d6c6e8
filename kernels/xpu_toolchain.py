"""The XPU toolchain: where its parts are, and how device code and launchers are compiled with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opgold.kernels.compilers import MissingCompiler, run
from opgold.kernels.sources import KERNELS

ARCH = "xpu3"
HOST_TRIPLE = "x86_64-baidu-linux-gnu"


@dataclass(frozen=True)
class Toolchain:
    """`clang` is XTDK's clang++; the rest are folders of the runtime (XRE) and of the library (XDNN)."""

    clang: Path
    includes: tuple[Path, ...]
    libraries: tuple[Path, ...]

    @property
    def device_flags(self) -> list[str]:
        """As FastDeploy's plugin compiles its kernels."""
        return [
            "-std=c++11",
            "-O2",
            f"--xpu-arch={ARCH}",
            f"--target={os.environ.get('TARGET_ARCH', HOST_TRIPLE)}",
            f"-D__{ARCH.upper()}__",
            "-fno-builtin",
            "-fPIC",
            "-Wno-int-to-void-pointer-cast",
            "-Wno-int-to-pointer-cast",
            "-Werror",
            "-mllvm",
            "-fix-mfence=all",
            "-mllvm",
            "--xpu-inline-cost",
            "-mllvm",
            "--xpu-inline-hot-call",
            "-fxpu-launch-return",
            f"-I{KERNELS}",
            *(f"-I{folder}" for folder in self.includes),
        ]

    @property
    def host_flags(self) -> list[str]:
        """Launchers are C++17, for bindings/export.h is."""
        return [
            "-std=c++17",
            "-O2",
            "-DOPGOLD_XPU",
            "-D_GNU_SOURCE",
            "-DNDEBUG",
            "-fPIC",
            "-fvisibility=hidden",
            "-fxpu-launch-return",
            f"-I{KERNELS}",
            *(f"-I{folder}" for folder in self.includes),
        ]

    def build_kernels(self, source: Path, out: Path) -> None:
        """The library of one op: its device code, its launcher."""
        stage = out.with_suffix(".stage")
        stage.mkdir(parents=True, exist_ok=True)
        launcher = stage / f"{source.stem}_launcher.o"
        basename = f"{ARCH}_{source.stem}"
        try:
            device = [str(self.clang), *self.device_flags, "-c", str(source), "--basename", basename]
            run(device, cwd=stage)  # makes <basename>.o and <basename>.device.bin.o
            host = ["-x", "xpu", "--xpu-host-only", "-c", str(source.with_suffix(".cc")), "-o", str(launcher)]
            run([str(self.clang), *self.host_flags, *host])
            self.link([*sorted(stage.glob("*.o"))], out)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def build_device_library(self, source: Path, out: Path) -> None:
        unit = out.with_suffix(".o")
        try:
            run([str(self.clang), *self.host_flags, "-c", str(source), "-o", str(unit)])
            self.link([unit], out)
        finally:
            unit.unlink(missing_ok=True)

    def link(self, objects: list[Path], out: Path) -> None:
        folders = [f"-L{folder}" for folder in self.libraries]
        run([str(self.clang), "-shared", *map(str, objects), *folders, "-lxpurt", "-lxpuapi", "-o", str(out)])


def find() -> Toolchain:
    """The toolchain that the environment names. Raises MissingCompiler that says everything that is missing."""
    missing = []
    clang = _clang(os.environ)
    if clang is None:
        missing.append("CLANG_PATH (XTDK's folder, with bin/clang++)")
    includes, libraries = [], []
    for part in ("XRE", "XDNN"):
        include, library = _folders(os.environ, part)
        if include is None or library is None:
            missing.append(f"{part}_PATH (with include and so or lib), or {part}_INC_DIR and {part}_LIB_DIR")
        else:
            includes.append(include)
            libraries.append(library)
    if missing or clang is None:
        raise MissingCompiler("no XPU toolchain: set " + "; ".join(missing))
    return Toolchain(clang, tuple(includes), tuple(libraries))


def _clang(environment: Mapping[str, str]) -> Path | None:
    root = environment.get("CLANG_PATH")
    clang = Path(root) / "bin" / "clang++" if root else None
    return clang if clang and clang.is_file() else None


def _folders(environment: Mapping[str, str], part: str) -> tuple[Path | None, Path | None]:
    """Include and library folder of a part of the SDK."""
    root = environment.get(f"{part}_PATH")
    include = _folder(environment.get(f"{part}_INC_DIR"), root, "include")
    return include, _folder(environment.get(f"{part}_LIB_DIR"), root, "so", "lib")


def _folder(given: str | None, root: str | None, *names: str) -> Path | None:
    candidates = [Path(given)] if given else [Path(root) / name for name in names] if root else []
    return next((folder for folder in candidates if folder.is_dir()), None)
