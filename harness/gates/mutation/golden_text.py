"""The text of a golden model's module, and where each node of its tree stands in it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

SIGNS: Mapping[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}


class Source:
    """A module's `text` and `tree`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.text = file.read_text()
        self.tree = ast.parse(self.text)
        self._rows = self.text.splitlines(keepends=True)
        self._starts = [0]
        for row in self._rows:
            self._starts.append(self._starts[-1] + len(row))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node's text begins and ends."""
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.AST) -> str:
        """A node's text as it stands."""
        start, end = self.span(node)
        return self.text[start:end]

    def words(self, node: ast.AST) -> str:
        """A node's text on one line."""
        return " ".join(self.of(node).split())

    def line_and_column(self, place: int) -> tuple[int, int]:
        """Both from 1."""
        return self.text.count("\n", 0, place) + 1, place - self.text.rfind("\n", 0, place)

    def with_sign(self, whole: ast.AST, left: ast.AST, right: ast.AST, old: ast.AST, new: ast.AST) -> str:
        """The text of `whole` with another operator between two of its operands."""
        start, end = self.span(whole)
        gap, behind = self.span(left)[1], self.span(right)[0]
        between = self.text[gap:behind].replace(SIGNS[type(old)], SIGNS[type(new)], 1)
        return self.text[start:gap] + between + self.text[behind:end]

    def without(self, whole: ast.AST, part: ast.AST, put: str) -> str:
        """The text of `whole` with something else in the place of one part."""
        start, end = self.span(whole)
        first, last = self.span(part)
        return self.text[start:first] + put + self.text[last:end]

    def _place(self, line: int, column: int) -> int:
        """`column` counts bytes, as those of a tree do."""
        return self._starts[line - 1] + len(self._rows[line - 1].encode()[:column].decode())
