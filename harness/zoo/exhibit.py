"""One exhibit: a kernel's file, in which a planted bug stands beside the right text. Its head says what it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from opgold.harness import oracles, sequences
from opgold.harness.zoo import classes
from opgold.reference import schema

MACRO = "ZOO_BUG"
BACKENDS = {".cu": "cuda-emu", ".xpu": "xpu-emu"}
ORACLES = (*oracles.KERNEL, *oracles.SEQUENCES)  # those that judge a kernel
KEYS = ("op", "class", "story", "caught by", "perhaps", "plays", "not caught")
_LINE = re.compile(rf"// ({'|'.join(KEYS)}): *(.*)")


class ZooError(ValueError):
    """A file of the zoo that does not say what it must; the message names the file."""


@dataclass(frozen=True)
class Exhibit:
    """`fault` is its class, `caught_by` the oracles that must report the bug, `perhaps` those that may, as the compiler
    or what memory held will have it; `plays` the kinds of sequences that show it as well, `missed` why nothing reports
    it, empty if something does."""

    path: Path
    op: str
    fault: str
    story: str
    caught_by: tuple[str, ...]
    perhaps: tuple[str, ...]
    plays: tuple[str, ...]
    missed: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def backend(self) -> str:
        return BACKENDS[self.path.suffix]

    @property
    def twin(self) -> str:
        """The right twin's text, blanks apart: exhibits may share one."""
        return f"{self.backend} {self.op} {' '.join(_right(self.path.read_text(encoding='utf-8')).split())}"


def read(path: Path) -> Exhibit:
    """The exhibit of a file. Raises ZooError."""
    text = path.read_text(encoding="utf-8")
    head = _head(text)

    def names(key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
        found = tuple(name.strip() for name in head.get(key, "").split(",") if name.strip())
        for name in found:
            if name not in allowed:
                raise ZooError(f"{path}: {key}: {name!r}, expected one of {', '.join(allowed)}")
        return found

    for key in ("op", "class", "story"):
        if not head.get(key):
            raise ZooError(f"{path}: its head has no `// {key}: ...`")
    if head["op"] not in schema.ops():
        raise ZooError(f"{path}: op: there is no op {head['op']!r}")
    if not classes.known(head["class"]):
        raise ZooError(f"{path}: class: {head['class']!r} is not among harness/zoo/classes.py")
    caught_by, missed = names("caught by", ORACLES), head.get("not caught", "")
    if bool(caught_by) == bool(missed):
        raise ZooError(f"{path}: expected either `// caught by: ...` or `// not caught: reason`")
    conditions = [line for line in text.splitlines() if line.startswith("#if")]
    if not conditions:
        raise ZooError(f"{path}: nothing in it hangs on {MACRO}")
    for line in conditions:
        if line.split() not in (["#ifdef", MACRO], ["#ifndef", MACRO]):
            raise ZooError(f"{path}: {line}: expected #ifdef {MACRO} or #ifndef {MACRO}")
    perhaps, plays = names("perhaps", ORACLES), names("plays", sequences.NAMES)
    return Exhibit(path, head["op"], head["class"], head["story"], caught_by, perhaps, plays, missed)


def exhibits(folder: Path) -> list[Exhibit]:
    """All exhibits in `cuda/` and `xpu/` below a folder, in the order of their classes. Raises ZooError."""
    found = [read(path) for suffix in BACKENDS for path in sorted(folder.glob(f"*/*{suffix}"))]
    if not found:
        raise ZooError(f"{folder}: has no cuda/*.cu and no xpu/*.xpu")
    return sorted(found, key=lambda exhibit: (classes.order(exhibit.fault), exhibit.name))


def one_of_each_twin(found: list[Exhibit]) -> list[Exhibit]:
    """The exhibits without those whose right twin is another's, too."""
    return list({exhibit.twin: exhibit for exhibit in reversed(found)}.values())[::-1]


def _right(text: str) -> str:
    """What is left of a file without its head and without the macro."""
    kept, planted = [], [False]
    for line in text.splitlines():
        directive = line.split()
        if directive[:1] == ["#endif"]:
            planted.pop()
        elif directive[:1] == ["#else"]:
            planted[-1] = not planted[-1]
        elif directive[:1] in (["#ifdef"], ["#ifndef"]):
            planted.append(directive[0] == "#ifdef")
        elif not any(planted) and not line.startswith("//"):
            kept.append(line)
    return "\n".join(kept)


def _head(text: str) -> dict[str, str]:
    """The keys of the comment that a file begins with; a line without one goes on with the key before it."""
    found: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if match := _LINE.match(line):
            key = match[1]
            found[key] = match[2].strip()
        elif key:
            found[key] += " " + line.removeprefix("//").strip()
    return found
