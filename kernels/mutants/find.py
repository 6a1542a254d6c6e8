"""The mutants of a kernel: of its unit and of the project's headers that it includes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from opgold.kernels.mutants import arithmetic, calls, conditions, statements
from opgold.kernels.mutants.mutant import Mutant
from opgold.kernels.mutants.parse import parse
from opgold.kernels.mutants.writer import Handler, rewritten
from opgold.kernels.sources import is_plain_header, units_of, with_includes

_HANDLERS: dict[str, Handler] = {
    "binary_expression": arithmetic.write_binary,
    "number_literal": arithmetic.write_number,
    "true": arithmetic.write_truth,
    "false": arithmetic.write_truth,
    "subscript_expression": arithmetic.write_subscript,
    "init_declarator": arithmetic.write_initialiser,
    "unary_expression": conditions.write_unary,
    "if_statement": statements.write_if,
    "while_statement": statements.write_conditional,
    "do_statement": statements.write_conditional,
    "conditional_expression": statements.write_conditional,
    "for_statement": statements.write_for,
    "declaration": statements.write_declaration,
    "expression_statement": statements.write_expression_statement,
    "return_statement": statements.write_jump,
    "continue_statement": statements.write_jump,
    "break_statement": statements.write_jump,
    "assignment_expression": statements.write_assignment,
    "update_expression": statements.write_update,
    "call_expression": calls.write_call,
    "field_expression": calls.write_field,
}


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
    """In a stable order: number i + 1 switches mutant i on. `vendor` is "cuda" or "xpu"."""
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
    return rewritten(parse(file, vendor), _HANDLERS, first)
