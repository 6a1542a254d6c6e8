"""The mutants of golden models: of an op's module and of the modules of helpers that it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opgold.harness.gates.change import FOLDER_OF, imports
from opgold.harness.gates.mutation.golden_sites import Change, Place, changes
from opgold.harness.gates.mutation.golden_text import Source
from opgold.harness.gates.mutation.golden_words import Parameters, functions, parameters, said
from opgold.kernels.mutants import Mutant

REFERENCE = FOLDER_OF["opgold.reference"]
VOCABULARY = REFERENCE / "schema.py"
_LOOSE = ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp | ast.IfExp
_AROUND = _LOOSE | ast.Attribute | ast.Subscript


@dataclass(frozen=True)
class Site:
    """A mutant, the function that it is in (`Class.method`, `function`), the lines of its statement without those of
    statements in it, and the changed module."""

    mutant: Mutant
    function: str
    lines: frozenset[int]
    changed: str


def sites(op: str) -> tuple[Site, ...]:
    """Every mutant of an op's model, in the order of files and lines."""
    return tuple(site for file in modules(op) for site in _sites(file))


def modules(op: str) -> list[Path]:
    """The op's module, and those that it imports, directly or not, but for the vocabulary."""
    found: list[Path] = []
    pending = [REFERENCE / f"{op}.py"]
    while pending:
        file = pending.pop()
        if file not in found and file != VOCABULARY and file.parent == REFERENCE:
            found.append(file)
            pending += imports(file)
    return [found[0], *sorted(file for file in found[1:] if file.stem.startswith("_"))]


@cache
def _parameters() -> Parameters:
    files = sorted(file for file in REFERENCE.glob("*.py") if file != VOCABULARY)
    return parameters(ast.parse(file.read_text()) for file in files)


@cache
def _sites(file: Path) -> tuple[Site, ...]:
    source = Source(file)
    known = _parameters()
    found: dict[Mutant, Site] = {}
    owners = {id(m): f"{c.name}." for c in source.tree.body if isinstance(c, ast.ClassDef) for m in c.body}
    for function in functions(source.tree):
        name = owners.get(id(function), "") + function.name
        silent = frozenset(said(function, known))
        for statement, node, parent in _nodes(function, function, silent):
            for change in changes(node, Place(source, parent, known, silent)):
                site = _site(source, name, statement, change, parent if change.node is node else None)
                found.setdefault(site.mutant, site)
    return tuple(sorted(found.values(), key=lambda site: (site.mutant.line, site.mutant.column)))


def _nodes(
    node: ast.AST, statement: ast.stmt, silent: frozenset[ast.AST]
) -> Iterator[tuple[ast.stmt, ast.AST, ast.AST]]:
    """The statement, itself and its parent of everything below a node that may be changed."""
    for name, value in ast.iter_fields(node):
        if name == "annotation" or (isinstance(node, ast.FunctionDef) and name != "body"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or child in silent:
                continue
            if isinstance(child, ast.JoinedStr | ast.Raise | ast.arguments):
                continue
            within = child if isinstance(child, ast.stmt) else statement
            yield within, child, node
            yield from _nodes(child, within, silent)


def _site(source: Source, function: str, statement: ast.stmt, change: Change, parent: ast.AST | None) -> Site:
    """`parent`: of an operand, what may be an operator around it."""
    text, (start, end) = source.text, source.span(change.node)
    after = change.after
    enclosed = text[start - 1] in "([" and text[end : end + 1] in ")]"
    number = isinstance(parent, ast.Attribute) and after.lstrip("-").isdecimal()  # `1.real` is no attribute
    if isinstance(parent, _AROUND) and not enclosed and (number or _is_looser(after)):
        after = f"({after})"
    line, column = source.line_and_column(start)
    mutant = Mutant(source.file, line, column, change.operator, text[start:end], after, change.hint)
    return Site(mutant, function, _own_lines(statement), text[:start] + after + text[end:])


def _is_looser(text: str) -> bool:
    """Whether an expression falls apart beside an operator."""
    statement = ast.parse(text.strip()).body[0]
    value = statement.value if isinstance(statement, ast.Expr) else None
    signed = isinstance(value, ast.UnaryOp) and isinstance(value.operand, ast.Constant)
    return isinstance(value, _LOOSE) and not signed


def _own_lines(statement: ast.stmt) -> frozenset[int]:
    """The lines of a statement up to the first one in it."""
    inner = [part.lineno for name in ("body", "orelse") for part in getattr(statement, name, [])]
    last = min(inner) - 1 if inner else statement.end_lineno or statement.lineno
    return frozenset(range(statement.lineno, max(last, statement.lineno) + 1))
