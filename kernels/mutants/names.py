"""What the text declares of names: enough to leave out mutants that change nothing, or that do not compile."""

from __future__ import annotations

import re

from tree_sitter import Node

from opgold.kernels.mutants.parse import Source, descendants

WIDE = {"int64_t", "uint64_t", "Int64", "long long", "unsigned long long", "size_t", "uintptr_t"}
INDEX = re.compile(
    r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]\b"
    r"|\b(?:core_id|core_num|cluster_id|cluster_num|core_index|all_cores)\(\)"
)
CONSTANT = re.compile(r"^(?:\w+::)*k[A-Z]\w*$")
# Extents of arrays, and numbers of threads.
_FROM_ZERO = re.compile(r"(?:^|\.|->)(?:bsz|rows|columns|width|vocab|capacity|max_len|max_draft|lane|warp|core)$")
_SCALAR = re.compile(
    r"^(?:bool|char|short|int|long|float|double|signed|unsigned|auto|u?int\d+_t|u?intptr_t|size_t|Int64|T|Element|Half|BFloat16"
    r"|float16|bfloat16|long long|unsigned \w+|unsigned long long)$"
)
_DECLARED = {"parameter_declaration", "declaration", "field_declaration", "for_range_loop"}


class Names:
    """Declarations of one function, and the fields of its file."""

    def __init__(self, source: Source, function: Node) -> None:
        self._source = source
        self._types: dict[str, set[str]] = {}
        self._constant: dict[str, bool] = {}
        self._first: dict[str, str] = {}
        self._fields: set[str] = set()
        fields = [node for node in descendants(source.root) if node.type == "field_declaration"]
        local = [node for node in descendants(function) if node.type in _DECLARED]
        for node in local:
            self._declare(node)
        known = set(self._types)
        for node in fields:
            self._declare(node, known)

    def _declare(self, node: Node, known: set[str] | frozenset[str] = frozenset()) -> None:
        type_ = node.child_by_field_name("type")
        if type_ is None:
            return
        base = " ".join(self._source.text(type_).split())
        constant = any(self._source.text(child) == "const" for child in node.children)
        for declarator in node.children_by_field_name("declarator"):
            stars, inner, value = "", declarator, None
            while inner.type not in ("identifier", "field_identifier"):
                if inner.type == "init_declarator":
                    value = inner.child_by_field_name("value")
                stars += {"pointer_declarator": "*", "array_declarator": "[]"}.get(inner.type, "")
                following = inner.child_by_field_name("declarator") or next(iter(inner.named_children), None)
                if following is None:
                    return
                inner = following
            name = self._source.text(inner)
            if name in known:
                continue
            if inner.type == "field_identifier":
                self._fields.add(name)
            self._types.setdefault(name, set()).add(("const " if constant and stars else "") + base + stars)
            self._constant[name] = constant
            if value is not None:
                self._first[name] = self._source.text(value)

    def type_of(self, node: Node) -> str | None:
        """The declared type of a name or field, without its own const and reference; None unless there is one."""
        if node.type == "parenthesized_expression" and node.named_child_count == 1:
            return self.type_of(node.named_children[0])
        if node.type == "field_expression":
            field = node.child_by_field_name("field")
            return self.type_of(field) if field is not None else None
        if node.type not in ("identifier", "field_identifier"):
            return None
        types = self._types.get(self._source.text(node), set())
        return next(iter(types)) if len(types) == 1 else None

    def may_swap(self, one: Node, other: Node) -> bool:
        """Whether either of two names may stand in the place of the other."""
        types = self.type_of(one), self.type_of(other)
        if types[0] is None or types[0] != types[1] or types[0].endswith("[]"):
            return False
        return self._constant[self._source.text(one)] == self._constant[self._source.text(other)]

    def is_pointer(self, node: Node) -> bool:
        return (self.type_of(node) or "").endswith(("*", "[]"))

    def is_class(self, node: Node) -> bool:
        """Whether operators on it are a type's own."""
        type_ = self.type_of(node)
        return type_ is not None and not type_.endswith(("*", "[]")) and not _SCALAR.match(type_)

    def is_type(self, node: Node) -> bool:
        """`(Int64)` of `(Int64)-1`, which reads like a difference."""
        text = self._source.text(node)
        inner = text[1:-1].strip()
        return node.type == "parenthesized_expression" and inner not in self._types and bool(_SCALAR.match(inner))

    def loads_wide(self, node: Node) -> bool:
        """Whether a value comes from an array of 64-bit integers."""
        for inner in descendants(node):
            base = inner.child_by_field_name("argument")
            loads = inner.type == "subscript_expression" or (
                inner.type == "pointer_expression" and self._source.text(inner).startswith("*")
            )
            if not loads or base is None or not self.is_pointer(base):
                continue
            if (self.type_of(base) or "").removeprefix("const ").rstrip("*[]") in WIDE:
                return True
        return False

    def is_data(self, node: Node) -> bool:
        """Whether a value may be anything that an array holds: an element, a name for one, a field that may be one."""
        text = self._source.text(node)
        if INDEX.search(text) or CONSTANT.search(text) or _FROM_ZERO.search(text):
            return False
        return "[" in text or "[" in self._first.get(text, "") or text in self._fields
