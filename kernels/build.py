"""Compiles kernels and device libraries on demand, once for each content, and keeps them in a cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from opgold.kernels.emulator.rewrite import rewrite

KERNELS = Path(__file__).resolve().parent
EMULATOR = KERNELS / "emulator"
TARGETS = ("cuda-emu", "cuda")
FLAVOURS = ("checked", "plain", "coverage")
CACHE_VERSION = 1

_LANGUAGE = ["-std=c++17", "-g1", "-gdwarf-4", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off"]
# Without these, the compiler expands small copies where no instrumentation sees them.
_NO_BUILTIN = ["-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"]
_SANITIZERS = "thread,alignment,signed-integer-overflow,shift,bounds,integer-divide-by-zero"
_CHECKED = ["-O1", f"-fsanitize={_SANITIZERS}", *_NO_BUILTIN]
_CHECKED_LINK = ["-Wl,--wrap=memcpy", "-Wl,--wrap=memmove", "-Wl,--wrap=memset"]
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


class BuildError(RuntimeError):
    """A compiler refused; the message is the compiler's, on the original file and line."""


class MissingCompiler(RuntimeError):
    """No compiler for a target; the message says how to get one."""


def source_of(op: str) -> Path:
    """The CUDA source of `op`."""
    return KERNELS / "cuda" / f"{op}.cu"


def cache_directory() -> Path:
    """Where libraries are kept: $OPGOLD_CACHE, or the platform's cache directory."""
    chosen = os.environ.get("OPGOLD_CACHE")
    if chosen:
        return Path(chosen).expanduser().resolve()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "opgold"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opgold"


def find_compiler(target: str) -> str:
    """The compiler's path for `target`; raises MissingCompiler with a way out."""
    if target == "cuda":
        names = [os.environ.get("NVCC"), "nvcc"]
        homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
        names += [str(Path(home) / "bin" / "nvcc") for home in homes]
        names.append("/usr/local/cuda/bin/nvcc")
        way_out = "install the CUDA toolkit, or set NVCC to its nvcc"
    elif target == "cuda-emu":
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


def kernel_library(source: Path, *, target: str, flavour: str = "checked", arch: str | None = None) -> Path:
    """The shared library of one kernel unit, compiled now unless an equal one was before.

    `flavour` applies to the emulator. `arch` applies to `cuda`: an nvcc architecture such as ``sm_90``;
    by default the architecture of the GPU found, or sm_80 and sm_90 when there is none.
    """
    source = Path(source).resolve()
    if flavour not in FLAVOURS:
        raise ValueError(f"unknown flavour {flavour!r}; there are {', '.join(FLAVOURS)}")
    compiler = find_compiler(target)
    files = _with_includes(source)
    if target == "cuda":
        flags = [
            "-std=c++17",
            "-O3",
            "-lineinfo",
            "-shared",
            "-Xcompiler",
            "-fPIC",
            *_architectures(arch),
            f"-I{KERNELS}",
        ]
        key = _key(files, [compiler, _version(compiler), *flags])
        return _cached(f"{source.stem}-cuda-{key}", lambda out: _run([compiler, *flags, str(source), "-o", str(out)]))
    device = device_library(target)
    flags = [*_LANGUAGE, "-DOPGOLD_EMULATOR", *_flavour_flags(compiler, flavour)]
    key = _key([*files, *_stand_ins(), EMULATOR / "rewrite.py"], [compiler, _version(compiler), str(device), *flags])
    name = f"{source.stem}-{flavour}-{key}"
    return _cached(name, lambda out: _build_emulated(compiler, flags, flavour, source, files, device, out, name))


def device_library(target: str) -> Path:
    """The shared library that runs kernels of `target` (bindings/abi.h)."""
    compiler = find_compiler(target)
    if target == "cuda":
        source = KERNELS / "bindings" / "device_cuda.cu"
        flags = ["-std=c++17", "-O2", "-shared", "-Xcompiler", "-fPIC", *_architectures(None), f"-I{KERNELS}"]
        key = _key(_with_includes(source), [compiler, _version(compiler), *flags])
        return _cached(f"device-cuda-{key}", lambda out: _run([compiler, *flags, str(source), "-o", str(out)]))
    units = sorted((EMULATOR / "core").glob("*.cc"))
    files = sorted({file for unit in units for file in _with_includes(unit)})
    flags = [
        "-std=c++17",
        "-O2",
        "-g1",
        "-gdwarf-4",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-omit-frame-pointer",
        f"-I{KERNELS}",
    ]
    key = _key(files, [compiler, _version(compiler), *flags])
    return _cached(f"device-emulator-{key}", lambda out: _build_core(compiler, flags, units, out))


def _flavour_flags(compiler: str, flavour: str) -> list[str]:
    if flavour == "plain":
        return ["-O2", "-fwrapv"]
    if flavour == "coverage":
        return ["-O0", "-fwrapv", "--coverage"]
    entry = (
        ["-mllvm", "-tsan-instrument-func-entry-exit=0"]
        if _is_clang(compiler)
        else ["--param", "tsan-instrument-func-entry-exit=0"]
    )
    return [*_CHECKED, *entry, "-DOPGOLD_CHECKED"]


def _build_emulated(
    compiler: str, flags: list[str], flavour: str, source: Path, files: list[Path], device: Path, out: Path, name: str
) -> None:
    # The rewritten text lies in a mirror of the file tree, so that relative includes find rewritten files.
    stage = out.parent / f"{name}.units" if flavour == "coverage" else out.with_suffix(".stage")
    mirror = {file: stage / str(file).lstrip("/") for file in files if not _is_plain_header(file)}
    for file, copy in mirror.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(rewrite(file.read_text(), file))
    includes = [f"-I{stage / str(KERNELS).lstrip('/')}", f"-I{KERNELS}", f"-I{EMULATOR / 'cuda'}"]
    link = [
        "-shared",
        *(_CHECKED_LINK if flavour == "checked" else []),
        *(["--coverage"] if flavour == "coverage" else []),
    ]
    unit = stage / f"{source.stem}.o"
    try:
        _run([compiler, *flags, *includes, "-x", "c++", "-c", str(mirror[source]), "-o", str(unit)])
        _run([compiler, *link, str(unit), str(device), "-o", str(out)])
    finally:
        if flavour != "coverage":  # gcov needs the notes beside the unit
            shutil.rmtree(stage, ignore_errors=True)


def _build_core(compiler: str, flags: list[str], units: list[Path], out: Path) -> None:
    with tempfile.TemporaryDirectory(dir=out.parent) as directory:
        objects = [Path(directory) / f"{unit.stem}.o" for unit in units]

        def compile_unit(unit: Path, object_: Path) -> None:
            _run([compiler, *flags, "-c", str(unit), "-o", str(object_)])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_unit, units, objects))
        _run([compiler, "-shared", *map(str, objects), "-o", str(out), "-ldl", "-lrt", "-lpthread"])


def _is_plain_header(file: Path) -> bool:
    return file.is_relative_to(KERNELS / "bindings") or file.is_relative_to(EMULATOR)


@dataclass(frozen=True)
class _Scan:
    """What matters of one file's content."""

    digest: bytes
    includes: tuple[str, ...]


def _scan(file: Path) -> _Scan:
    status = file.stat()
    return _scan_version(file, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=1024)
def _scan_version(file: Path, *_version: int) -> _Scan:
    content = file.read_bytes()
    return _Scan(hashlib.sha256(content).digest(), tuple(_INCLUDE.findall(content.decode())))


@lru_cache
def _stand_ins() -> tuple[Path, ...]:
    """The headers in the place of the vendor's. Units include them in angle brackets; any of them may matter."""
    folder = EMULATOR / "cuda"
    return (*(path for path in folder.rglob("*") if path.is_file()), EMULATOR / "core" / "hooks.h")


@lru_cache(maxsize=4096)
def _resolve(name: str, directory: Path) -> Path | None:
    for folder in (directory, KERNELS, EMULATOR / "cuda"):
        candidate = (folder / name).resolve()
        if candidate.is_file():
            return candidate
    return None


def _with_includes(source: Path) -> list[Path]:
    """`source` and every file that it includes in quotes, directly or not, as far as it can be found."""
    found: set[Path] = set()
    pending = [source]
    while pending:
        file = pending.pop()
        if file not in found:
            found.add(file)
            pending.extend(path for name in _scan(file).includes if (path := _resolve(name, file.parent)))
    return sorted(found)


def _key(files: list[Path], parts: list[str]) -> str:
    digest = hashlib.sha256(repr((CACHE_VERSION, parts)).encode())
    for file in files:
        digest.update(repr(str(file)).encode())
        digest.update(_scan(file).digest)
    return digest.hexdigest()[:24]


def _cached(name: str, build: Callable[[Path], None]) -> Path:
    directory = cache_directory()
    library = directory / f"{name}.so"
    if library.exists():
        return library
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory / f"{name}.lock"):
        if not library.exists():
            descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=f"{name}.", suffix=".so.part")
            os.close(descriptor)
            try:
                build(Path(temporary))
                os.chmod(temporary, 0o755)
                os.replace(temporary, library)
            finally:
                Path(temporary).unlink(missing_ok=True)
    return library


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{Path(command[0]).name} failed:\n{done.stderr or done.stdout}")


@lru_cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout


def _is_clang(compiler: str) -> bool:
    return "clang" in _version(compiler)


def _architectures(arch: str | None) -> list[str]:
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
