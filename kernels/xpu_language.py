"""What an XPU's compiler would refuse, or get wrong, though a CPU's does not: found by clang's front end, without code.

Pointers have memories: one that is not marked points to local memory. Device code is C++11, `size_t` has 32 bits, and
64-bit remainders and quotients are not to be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from opgold.kernels.compilers import BuildError
from opgold.kernels.sources import EMULATOR, KERNELS

DECLARATIONS = EMULATOR / "xpu_language"
_FLAGS = [
    "-xc++",
    "-std=c++11",
    "--target=i386-unknown-linux-gnu",  # 32-bit size_t and pointers to nowhere: nothing is run
    "-ffreestanding",
    "-nostdinc",
    "-fno-exceptions",
    "-fno-rtti",
    "-Wall",
    "-Wno-unused",
    "-Wshorten-64-to-32",
    "-Wno-unknown-pragmas",
    "-Wno-undefined-internal",
    "-Wno-undefined-inline",
    f"-I{DECLARATIONS}",
    f"-I{KERNELS}",
]


@cache
def unavailable() -> str:
    """Why device code cannot be checked here; empty if it can."""
    try:
        import clang.cindex
    except ImportError:
        return "libclang is not installed (pip install libclang)"
    try:
        clang.cindex.Config().lib  # noqa: B018  (loads it)
    except clang.cindex.LibclangError as reason:
        return f"libclang cannot be loaded: {reason}"
    return ""


def identity() -> str:
    """What a verdict hangs on besides the code: changes with the front end's version; empty where there is none."""
    return "" if unavailable() else f"libclang {metadata.version('libclang')}"


def complaints(source: Path, flags: Sequence[str] = ()) -> list[str]:
    """`file:line: what is wrong` for each fault of a `.xpu` file and its headers, in order, each once."""
    from clang import cindex

    unit = cindex.Index.create().parse(str(source), args=[*_FLAGS, *flags])
    found = []
    for diagnostic in unit.diagnostics:
        if diagnostic.severity >= cindex.Diagnostic.Warning and diagnostic.location.file:
            found.append(f"{diagnostic.location.file.name}:{diagnostic.location.line}: {diagnostic.spelling}")
    found += _divisions(cindex, unit.cursor)
    return list(dict.fromkeys(found))


def check(source: Path, flags: Sequence[str] = ()) -> None:
    """Raise BuildError for device code that an XPU's compiler would not take; do nothing where clang is missing."""
    if unavailable():
        return
    found = complaints(source, flags)
    if found:
        raise BuildError("this is not XPU device code:\n" + "\n".join(found))


def _divisions(cindex: Any, cursor: Any) -> Iterator[str]:
    """64-bit `/` and `%` in own code."""
    for node in cursor.walk_preorder():
        if node.kind not in (cindex.CursorKind.BINARY_OPERATOR, cindex.CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            continue
        children = list(node.get_children())
        if len(children) != 2:
            continue
        after = children[0].extent.end.offset
        tokens = (t for t in node.get_tokens() if t.kind != cindex.TokenKind.COMMENT)
        sign = next((t.spelling for t in tokens if t.extent.start.offset >= after), "")
        if sign.rstrip("=") in ("/", "%") and any(_is_wide(cindex, child.type) for child in children):
            place = node.location
            yield f"{place.file.name}:{place.line}: 64-bit `{sign}`: use 32 bits, or compare and subtract"


def _is_wide(cindex: Any, kind: Any) -> bool:
    return kind.get_canonical().kind in (cindex.TypeKind.LONGLONG, cindex.TypeKind.ULONGLONG)
