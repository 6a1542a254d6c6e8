"""Compiles kernels and device libraries on demand, once for each content, and keeps them in a cache."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from opgold.kernels import xpu_language, xpu_toolchain
from opgold.kernels.cache import cache_directory, cached
from opgold.kernels.compilers import (
    TARGETS,
    BuildError,
    MissingCompiler,
    architectures,
    find_compiler,
    is_clang,
    run,
    version,
)
from opgold.kernels.emulator.rewrite import rewrite
from opgold.kernels.sources import (
    EMULATOR,
    KERNELS,
    is_plain_header,
    key_of,
    source_of,
    stand_ins,
    units_of,
    vendor_of,
    with_includes,
)

if TYPE_CHECKING:
    from opgold.kernels.mutants.find import Mutated

__all__ = [
    "EMULATOR",
    "FLAVOURS",
    "KERNELS",
    "TARGETS",
    "BuildError",
    "MissingCompiler",
    "cache_directory",
    "device_library",
    "find_compiler",
    "kernel_library",
    "source_of",
]

FLAVOURS = ("checked", "plain", "coverage", "mutants", "mutants-checked")

_LANGUAGE = ["-std=c++17", "-g1", "-gdwarf-4", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off"]
# Without these, the compiler expands small copies where no instrumentation sees them.
_NO_BUILTIN = ["-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"]
_SANITIZERS = "thread,alignment,signed-integer-overflow,shift,bounds,integer-divide-by-zero"
_CHECKED = ["-O1", f"-fsanitize={_SANITIZERS}", *_NO_BUILTIN]
_CHECKED_LINK = ["-Wl,--wrap=memcpy", "-Wl,--wrap=memmove", "-Wl,--wrap=memset"]
# A launcher's `__attribute__((global))` is the vendor's; two variables never share local memory.
_VENDOR_FLAGS = {"cuda": [], "xpu": ["-DOPGOLD_XPU", "-Wno-attributes", "-fstack-reuse=none"]}


def kernel_library(
    source: Path,
    *,
    target: str,
    flavour: str = "checked",
    arch: str | None = None,
    strict: bool = True,
    defines: Sequence[str] = (),
) -> Path:
    """The shared library of one op's kernels, compiled now unless an equal one was before.

    `flavour` applies to the emulator. `arch` applies to `cuda`: an nvcc architecture such as ``sm_90``;
    by default the architecture of the GPU found, or sm_80 and sm_90 when there is none. `strict` applies to `xpu-emu`:
    device code must also be what an XPU's compiler takes, as far as `xpu_language` can tell here. `defines` are macros
    for the emulator's builds.
    """
    source = Path(source).resolve()
    if flavour not in FLAVOURS:
        raise ValueError(f"unknown flavour {flavour!r}; there are {', '.join(FLAVOURS)}")
    compiler = find_compiler(target)
    vendor = vendor_of(target)
    units = units_of(source)
    files = with_includes(units, vendor)
    if target == "cuda":
        flags = [
            "-std=c++17",
            "-O3",
            "-lineinfo",
            "-shared",
            "-Xcompiler",
            "-fPIC",
            *architectures(arch),
            f"-I{KERNELS}",
        ]
        key = key_of(files, [compiler, version(compiler), *flags])
        return cached(f"{source.stem}-cuda-{key}", lambda out: run([compiler, *flags, str(source), "-o", str(out)]))
    if target == "xpu":
        tools = xpu_toolchain.find()
        key = key_of(files, [compiler, version(compiler), *tools.device_flags, *tools.host_flags, str(tools.libraries)])
        return cached(f"{source.stem}-xpu-{key}", lambda out: tools.build_kernels(source, out))
    device = device_library(target)
    macros = [f"-D{name}" for name in defines]
    flags = [*_LANGUAGE, *_VENDOR_FLAGS[vendor], "-DOPGOLD_EMULATOR", *macros]
    emulated = _Emulated(compiler, vendor, flavour, units, files, device, flags)
    language = xpu_language.identity() if strict and vendor == "xpu" else ""
    key = key_of(
        [*files, *stand_ins(vendor), EMULATOR / "rewrite.py", KERNELS / "xpu_language.py"],
        [compiler, version(compiler), str(device), *flags, *emulated.device_flags, language, emulated.text_key],
    )
    name = f"{source.stem}-{'' if vendor == 'cuda' else vendor + '-'}{flavour}-{key}"

    def build(out: Path) -> None:
        if language:
            xpu_language.check(source, macros)
        emulated.build(out, name)

    return cached(name, build)


def device_library(target: str) -> Path:
    """The shared library that runs kernels of `target` (bindings/abi.h). All emulators are one."""
    compiler = find_compiler(target)
    if target == "cuda":
        source = KERNELS / "bindings" / "device_cuda.cu"
        flags = ["-std=c++17", "-O2", "-shared", "-Xcompiler", "-fPIC", *architectures(None), f"-I{KERNELS}"]
        key = key_of(with_includes([source]), [compiler, version(compiler), *flags])
        return cached(f"device-cuda-{key}", lambda out: run([compiler, *flags, str(source), "-o", str(out)]))
    if target == "xpu":
        tools, source = xpu_toolchain.find(), KERNELS / "bindings" / "device_xpu.cc"
        key = key_of(with_includes([source], "xpu"), [compiler, version(compiler), *tools.host_flags])
        return cached(f"device-xpu-{key}", lambda out: tools.build_device_library(source, out))
    units = sorted((EMULATOR / "core").rglob("*.cc"))
    flags = [
        "-std=c++17",
        "-O2",
        "-g1",
        "-gdwarf-4",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-omit-frame-pointer",
    ]
    # the same for every checkout: no finding is about its lines
    key = key_of(with_includes(units), [compiler, version(compiler), *flags], KERNELS)
    places = [f"-I{KERNELS}", f"-ffile-prefix-map={KERNELS}=kernels"]
    return cached(f"device-emulator-{key}", lambda out: _build_core(compiler, [*flags, *places], units, out))


@dataclass(frozen=True)
class _Emulated:
    """One kernel library for the emulator."""

    compiler: str
    vendor: str
    flavour: str
    units: list[Path]
    files: list[Path]
    device: Path
    flags: list[str]

    @property
    def has_mutants(self) -> bool:
        return self.flavour.startswith("mutants")

    @property
    def is_checked(self) -> bool:
        return self.flavour.endswith("checked")

    @cached_property
    def mutated(self) -> Mutated | None:
        """The text with mutants, in a flavour that has them."""
        if not self.has_mutants:
            return None
        from opgold.kernels.mutants.find import mutated

        return mutated(tuple(self.files), self.vendor)

    @property
    def text_key(self) -> str:
        """What the library hangs on beside files and flags."""
        return repr((sorted(self.mutated.texts.items()), self.mutated.sites)) if self.mutated else ""

    @property
    def device_flags(self) -> list[str]:
        if self.flavour in ("plain", "mutants"):
            return ["-O2", "-fwrapv"]
        if self.flavour == "coverage":
            return ["-O0", "-fwrapv", "--coverage"]
        option = ("-mllvm", "-") if is_clang(self.compiler) else ("--param", "")
        strict = [] if is_clang(self.compiler) else ["-fsanitize=bounds-strict"]  # the last array of a struct, too
        tuning = ("tsan-instrument-func-entry-exit=0", "tsan-distinguish-volatile=1")
        return [
            *_CHECKED,
            *strict,
            *(part for each in tuning for part in (option[0], option[1] + each)),
            "-DOPGOLD_CHECKED",
        ]

    def build(self, out: Path, name: str) -> None:
        # The rewritten text lies in a mirror of the file tree, so that relative includes find rewritten files.
        stage = out.parent / f"{name}.units" if self.flavour == "coverage" else out.with_suffix(".stage")
        mirror = {file: stage / str(file).lstrip("/") for file in self.files if not is_plain_header(file)}
        texts, extra = (self.mutated.texts, self._mutants_flags(stage)) if self.mutated else ({}, [])
        for file, copy in mirror.items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(rewrite(texts.get(file) or file.read_text(), file))
        includes = [*extra, f"-I{stage / str(KERNELS).lstrip('/')}", f"-I{KERNELS}", f"-I{EMULATOR / self.vendor}"]
        link = [
            "-shared",
            *(_CHECKED_LINK if self.is_checked else []),
            *(["--coverage"] if self.flavour == "coverage" else []),
        ]
        objects = [stage / f"{unit.name}.o" for unit in self.units]
        try:
            for unit, object_ in zip(self.units, objects, strict=True):
                # a launcher of its own is host code: nothing in it is looked at
                flags = self.flags + (["-O1"] if unit.suffix == ".cc" else self.device_flags)
                run([self.compiler, *flags, *includes, "-x", "c++", "-c", str(mirror[unit]), "-o", str(object_)])
            run([self.compiler, *link, *map(str, objects), str(self.device), "-o", str(out)])
        finally:
            if self.flavour != "coverage":  # gcov needs the notes beside the unit
                shutil.rmtree(stage, ignore_errors=True)

    def _mutants_flags(self, stage: Path) -> list[str]:
        """Writes the table of sites; the flags that text with mutants is compiled with."""
        assert self.mutated is not None
        stage.mkdir(parents=True, exist_ok=True)
        (stage / "mutants_sites.h").write_text(self.mutated.table)
        return [f"-I{stage}", "-include", str(EMULATOR / "common" / "mutants.h")]


def _build_core(compiler: str, flags: list[str], units: list[Path], out: Path) -> None:
    with tempfile.TemporaryDirectory(dir=out.parent) as directory:
        objects = [Path(directory) / f"{unit.stem}.o" for unit in units]

        def compile_unit(unit: Path, object_: Path) -> None:
            run([compiler, *flags, "-c", str(unit), "-o", str(object_)])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_unit, units, objects))
        run([compiler, "-shared", *map(str, objects), "-o", str(out), "-ldl", "-lrt", "-lpthread"])
