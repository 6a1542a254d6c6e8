"""The mutants of a kernel: of its unit and of the project's headers that it includes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from opgold.kernels.compilers import MissingCompiler
from opgold.kernels.mutants.mutant import Mutant
from opgold.kernels.sources import is_plain_header, units_of, with_includes


@dataclass(frozen=True)
class Mutated:
    """The text of each file with its mutants, and of each mutant the first number of its place's."""

    texts: dict[Path, str]
    mutants: tuple[Mutant, ...]
    sites: tuple[int, ...]

    @property
    def table(self) -> str:
        """The header that common/mutants.h includes."""
        return (
            f"namespace opgold::mutants {{\nconstexpr int count = {len(self.sites)};\n"
            f"constexpr int site_of[] = {{{', '.join(map(str, (0, *self.sites)))}}};\n}}\n"
        )


def mutants_of(source: Path, vendor: str) -> tuple[Mutant, ...]:
    """In a stable order: number i + 1 switches mutant i on. `vendor` is "cuda" or "xpu". Raises MissingCompiler
    without the extra `mutants`, SyntaxError for device code that cannot be read."""
    source = Path(source).resolve()
    return mutated(tuple(with_includes(units_of(source), vendor)), vendor).mutants


def mutated(files: tuple[Path, ...], vendor: str) -> Mutated:
    """Of the files of one kernel library. A launcher of its own has no device code."""
    texts: dict[Path, str] = {}
    mutants: list[Mutant] = []
    sites: list[int] = []
    for file in files:
        if file.suffix == ".cc" or is_plain_header(file):
            continue
        status = file.stat()
        texts[file], own, first = _rewritten(file, vendor, len(mutants), status.st_mtime_ns, status.st_size)
        mutants += own
        sites += first
    return Mutated(texts, tuple(mutants), tuple(sites))


@lru_cache(maxsize=1024)
def _rewritten(file: Path, vendor: str, first: int, *_version: int) -> tuple[str, list[Mutant], list[int]]:
    try:
        from opgold.kernels.mutants.handlers import HANDLERS
        from opgold.kernels.mutants.parse import parse
        from opgold.kernels.mutants.writer import rewritten
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("tree_sitter"):
            raise
        raise MissingCompiler(f"mutants of device code need {missing.name}: pip install 'opgold[mutants]'") from missing
    return rewritten(parse(file, vendor), HANDLERS, first)
