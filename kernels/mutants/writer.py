"""Rewrites the text of one file so that each of its mutants can be switched on. Lines stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from opgold.kernels.mutants.mutant import Mutant
from opgold.kernels.mutants.names import Names
from opgold.kernels.mutants.parse import Source, device_functions, head_of

# Text that the compiler must be able to evaluate, that is never evaluated, or that declares.
RAW = {
    "template_argument_list",
    "static_assert_declaration",
    "array_declarator",
    "sizeof_expression",
    "alignof_expression",
    "decltype",
    "type_descriptor",
    "parameter_list",
    "lambda_capture_specifier",
    "kernel_call_syntax",
    "gnu_asm_expression",
    "alias_declaration",
    "type_definition",
    "enum_specifier",
    "struct_specifier",
    "union_specifier",
    "class_specifier",
    "comment",
}

Handler = Callable[["Writer", Node], str]


@dataclass(frozen=True)
class Change:
    """What a mutant makes of a place."""

    operator: str
    after: str
    hint: str


@dataclass
class Writer:
    """`first` is the number before the file's first mutant's; `sites` has each mutant's site, its first number."""

    source: Source
    handlers: dict[str, Handler]
    names: Names
    mutants: list[Mutant]
    sites: list[int]
    first: int = 0

    def text(self, node: Node) -> str:
        """The original text on one line."""
        return flat(self.source.text(node))

    def add(self, node: Node, changes: Sequence[Change]) -> int:
        """Notes the mutants of a place, and returns the number of the first."""
        first = self.first + len(self.mutants) + 1
        before = self.text(node)
        line, column = node.start_point.row + 1, node.start_point.column + 1
        for change in changes:
            self.mutants.append(
                Mutant(self.source.file, line, column, change.operator, before, change.after, change.hint)
            )
            self.sites.append(first)
        return first

    def write(self, node: Node) -> str:
        """The text that stands for `node`, with all that lies in it."""
        if node.type in RAW:
            return self.source.text(node)
        handler = self.handlers.get(node.type)
        return handler(self, node) if handler else self.join(node)

    def join(self, node: Node, given: dict[int, str] | None = None) -> str:
        """The text of `node` with its children rewritten; `given` has the text of some, by the byte they start at."""
        parts, at = [], node.start_byte
        for child in node.children:
            parts.append(self.source.between(at, child.start_byte))
            known = (given or {}).get(child.start_byte) if child.end_byte > child.start_byte else None
            parts.append(known if known is not None else self.write(child))
            at = child.end_byte
        parts.append(self.source.between(at, node.end_byte))
        return "".join(parts)


def rewritten(source: Source, handlers: dict[str, Handler], first: int) -> tuple[str, list[Mutant], list[int]]:
    """The file's text, its mutants, and their sites, numbered from `first` + 1."""
    writer = Writer(source, handlers, Names(source, source.root), [], [], first)
    parts, at = [], 0
    for function in device_functions(source):
        body = function.child_by_field_name("body")
        if body is None or re.search(r"\bconstexpr\b", head_of(source, function)):
            continue
        own = replace(writer, names=Names(source, function))
        for node in function.children:
            if node.type in ("compound_statement", "field_initializer_list"):
                parts += [source.between(at, node.start_byte), own.write(node)]
                at = node.end_byte
    parts.append(source.between(at, len(source.content)))
    return "".join(parts), writer.mutants, writer.sites


def flat(text: str) -> str:
    """`text` on one line, without comments."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


def bare(node: Node) -> Node:
    """`node` without the brackets around it."""
    while node.type in ("parenthesized_expression", "condition_clause") and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def field(node: Node, name: str) -> Node:
    """A child that the grammar promises."""
    child = node.child_by_field_name(name)
    assert child is not None, (node.type, name)
    return child


def call(name: str, first: int, *arguments: str) -> str:
    """A call of common/mutants.h."""
    return f"opgold_m::{name}({', '.join([str(first), *arguments])})"
