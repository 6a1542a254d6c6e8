"""Which files a kernel library is made of, and the key of their content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

KERNELS = Path(__file__).resolve().parent
EMULATOR = KERNELS / "emulator"
SUFFIXES = {"cuda": ".cu", "xpu": ".xpu"}  # of a vendor's device code
CACHE_VERSION = 1

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def vendor_of(target: str) -> str:
    """The folder of a target's kernels: "cuda" or "xpu"."""
    return target.removesuffix("-emu")


def source_of(op: str, target: str = "cuda") -> Path:
    """The device code of `op` for a target."""
    vendor = vendor_of(target)
    return KERNELS / vendor / f"{op}{SUFFIXES[vendor]}"


def units_of(source: Path) -> list[Path]:
    """The translation units of a kernel library: an XPU's device code has its launcher beside it."""
    return [source, source.with_suffix(".cc")] if source.suffix == ".xpu" else [source]


def with_includes(units: Iterable[Path], vendor: str = "cuda") -> list[Path]:
    """The units and every file that they include in quotes, directly or not, as far as it can be found."""
    found: set[Path] = set()
    pending = list(units)
    while pending:
        file = pending.pop()
        if file not in found:
            found.add(file)
            included = (_resolve(name, file.parent, vendor) for name in _scan(file).includes)
            pending.extend(path for path in included if path)
    return sorted(found)


@lru_cache
def stand_ins(vendor: str) -> tuple[Path, ...]:
    """The headers in the place of the vendor's. Units include them in angle brackets; any of them may matter."""
    folders = (EMULATOR / vendor, EMULATOR / "common", *([EMULATOR / "xpu_language"] if vendor == "xpu" else []))
    headers = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return (*headers, EMULATOR / "core" / "hooks.h")


def is_plain_header(file: Path) -> bool:
    """Whether a header is standard C++ as it stands."""
    return file.is_relative_to(KERNELS / "bindings") or file.is_relative_to(EMULATOR)


def key_of(files: Sequence[Path], parts: Sequence[str], root: Path = Path("/")) -> str:
    """A short name for the content of files, for where they lie below `root`, and whatever else a library hangs on."""
    digest = hashlib.sha256(repr((CACHE_VERSION, list(parts))).encode())
    for file in files:
        digest.update(repr(str(file.relative_to(root))).encode())
        digest.update(_scan(file).digest)
    return digest.hexdigest()[:24]


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


@lru_cache(maxsize=4096)
def _resolve(name: str, directory: Path, vendor: str) -> Path | None:
    for folder in (directory, KERNELS, EMULATOR / vendor):
        candidate = (folder / name).resolve()
        if candidate.is_file():
            return candidate
    return None
