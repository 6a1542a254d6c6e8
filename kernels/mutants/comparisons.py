"""Mutants of comparisons."""

from __future__ import annotations

from tree_sitter import Node

from opgold.kernels.mutants.writer import Change, Writer, bare, field

COMPARISONS = {
    "<": "Less",
    "<=": "LessEqual",
    ">": "Greater",
    ">=": "GreaterEqual",
    "==": "Equal",
    "!=": "Unequal",
}
_NAMES = {name: sign for sign, name in COMPARISONS.items()}
# The border moved, and a side that is never taken. What differs only where one side is less, such as `!=` for `<`,
# mostly asks for values that no contract allows.
_FAULTY = {
    "<": ("LessEqual", "False"),
    "<=": ("Less", "True"),
    ">": ("GreaterEqual", "False"),
    ">=": ("Greater", "True"),
    "==": ("True", "False"),
    "!=": ("True", "False"),
}
# In a loop, that it ends one turn too late or too early.
_FAULTY_LOOP = {
    "<": ("LessEqual", "LessByOne"),
    "<=": ("Less", "LessEqualByOne"),
    ">": ("GreaterEqual", "GreaterByOne"),
    ">=": ("Greater", "GreaterEqualByOne"),
}
_BY_ONE = {"Less": "{} + 1 < {}", "LessEqual": "{} - 1 <= {}", "Greater": "{} - 1 > {}", "GreaterEqual": "{} + 1 >= {}"}


def binary_parts(writer: Writer, node: Node) -> tuple[Node, str, Node]:
    """Left side, sign, right side."""
    return field(node, "left"), writer.text(field(node, "operator")), field(node, "right")


def is_comparison(writer: Writer, node: Node) -> bool:
    return node.type == "binary_expression" and binary_parts(writer, node)[1] in COMPARISONS


def in_loop_head(node: Node) -> bool:
    """Whether it is the condition of a loop, or a side of it."""
    around = ("binary_expression", "parenthesized_expression", "condition_clause")
    while node.parent is not None and node.parent.type in around:
        node = node.parent
    parent = node.parent
    loops = ("for_statement", "while_statement", "do_statement")
    return parent is not None and parent.type in loops and parent.child_by_field_name("condition") == node


def faulty(writer: Writer, node: Node) -> tuple[str, ...]:
    """The operators that may stand in the place of a comparison's."""
    left, sign, right = binary_parts(writer, node)
    if _only_equal(writer, left) or _only_equal(writer, right) or _keeps_an_end(writer, node):
        return ("True", "False")
    if in_loop_head(node) and sign in _FAULTY_LOOP:
        return _FAULTY_LOOP[sign]
    return _FAULTY[sign]


def _only_equal(writer: Writer, node: Node) -> bool:
    """Whether less and greater say nothing of a value: a pointer, a truth value, one of an enumeration's."""
    node = bare(node)
    return (
        node.type in ("null", "true", "false", "qualified_identifier")
        or writer.names.type_of(node) == "bool"
        or writer.names.is_pointer(node)
        or is_comparison(writer, node)
    )


def _keeps_an_end(writer: Writer, node: Node) -> bool:
    """Whether it chooses between the two sides that it compares, so that nothing changes where they are equal."""
    outer = node
    while outer.parent is not None and outer.parent.type in ("parenthesized_expression", "condition_clause"):
        outer = outer.parent
    parent = outer.parent
    if parent is None or parent.child_by_field_name("condition") != outer:
        return False
    left, sign, right = (part if isinstance(part, str) else writer.text(part) for part in binary_parts(writer, node))
    if sign in ("==", "!="):
        return False
    if parent.type == "conditional_expression":
        arms = {writer.text(bare(field(parent, name))) for name in ("consequence", "alternative")}
        return bool(arms & {left, right})
    if parent.type == "if_statement" and parent.child_by_field_name("alternative") is None:
        body = field(parent, "consequence")
        if body.type == "expression_statement" and body.named_children[0].type == "assignment_expression":
            target, sign, value = binary_parts(writer, body.named_children[0])
            return sign == "=" and {writer.text(target), writer.text(value)} == {left, right}
    return False


def write_comparison(writer: Writer, node: Node) -> str:
    left, sign, right = binary_parts(writer, node)
    names = faulty(writer, node)
    texts = writer.text(left), writer.text(right)
    first = writer.add(node, [_change(name, sign, *texts, in_loop_head(node)) for name in names])
    types = ", ".join(f"opgold_m::{name}" for name in (COMPARISONS[sign], *names))
    return write_operator(writer, node, f"binary<{types}>", first)


def write_operator(writer: Writer, node: Node, name: str, first: int) -> str:
    """A call with both sides as arguments; the sign becomes the comma between them."""
    left, operator, right = field(node, "left"), field(node, "operator"), field(node, "right")
    before = writer.source.between(left.end_byte, operator.start_byte)
    behind = writer.source.between(operator.end_byte, right.start_byte)
    return f"opgold_m::{name}({first}, {writer.write(left)}{before},{behind}{writer.write(right)})"


def _change(name: str, sign: str, left: str, right: str, loop: bool) -> Change:
    whole = f"{left} {sign} {right}"
    if name in ("True", "False"):
        turned = "does not hold" if name == "True" else "holds"
        return Change("dropped guard", name.lower(), f"a case in which `{whole}` {turned}")
    if name.endswith("ByOne"):
        after = _BY_ONE[name.removesuffix("ByOne")].format(left, right)
        return Change("off by one", after, f"a case in which the last turn of the loop up to `{right}` matters")
    new = _NAMES[name]
    tells = {"==": "equals", "<": "is less than", ">": "is greater than"}
    parts = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "=", "!=": "<>"}
    differ = [
        key for key, mark in (("==", "="), ("<", "<"), (">", ">")) if (mark in parts[sign]) != (mark in parts[new])
    ]
    when = " or ".join(tells[key] for key in differ)
    return Change(
        "off by one" if loop else "comparison", f"{left} {new} {right}", f"a case in which `{left}` {when} `{right}`"
    )
