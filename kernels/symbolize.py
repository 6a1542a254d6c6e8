"""Names the source lines behind an address in a kernel library, innermost first."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_EMULATOR = Path(__file__).resolve().parent / "emulator"


@dataclass(frozen=True)
class Frame:
    """One level of the inline chain."""

    function: str
    file: str
    line: int


def frames(library: Path, pc: int) -> list[Frame]:
    """The inline chain at offset `pc` of `library`, without the emulator's own headers; empty if it is not known."""
    return list(_frames(str(library), pc))


@lru_cache(maxsize=4096)
def _frames(library: str, pc: int) -> tuple[Frame, ...]:
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if not tool or pc <= 0:
        return ()
    done = subprocess.run([tool, "-e", library, "-f", "-C", "-i", hex(pc)], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    found = []
    for function, place in zip(lines[::2], lines[1::2], strict=False):
        match = re.match(r"(.*):(\d+)(?: \(discriminator \d+\))?$", place)
        if not match or match[1] in ("??", "") or int(match[2]) == 0:
            continue
        file = Path(match[1])
        if file.is_relative_to(_EMULATOR) or _is_library_header(file):
            continue
        found.append(Frame(function, str(file), int(match[2])))
    return tuple(found)


def _is_library_header(file: Path) -> bool:
    """Whether a file is the C++ library's: a launch passes through std::apply."""
    return "/include/c++/" in file.as_posix()
