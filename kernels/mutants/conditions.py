"""Mutants of what is true or false: `&&`, `||`, `!`, and conditions."""

from __future__ import annotations

from tree_sitter import Node

from opgold.kernels.mutants.comparisons import binary_parts, faulty, is_comparison
from opgold.kernels.mutants.names import CONSTANT
from opgold.kernels.mutants.parse import descendants
from opgold.kernels.mutants.writer import Change, Writer, bare, call, field


def is_chain(writer: Writer, node: Node) -> bool:
    return node.type == "binary_expression" and binary_parts(writer, node)[1] in ("&&", "||")


def leaves(writer: Writer, node: Node) -> list[Node]:
    """The sides of `a && b && c`."""
    left, sign, right = binary_parts(writer, node)
    if is_chain(writer, left) and binary_parts(writer, left)[1] == sign:
        return [*leaves(writer, left), right]
    return [left, right]


def write_chain(writer: Writer, node: Node) -> str:
    sign = binary_parts(writer, node)[1]
    neutral, final = ("True", "False") if sign == "&&" else ("False", "True")
    sides = leaves(writer, node)
    constant = [faulty(writer, bare(side)) if is_comparison(writer, bare(side)) else () for side in sides]
    whole = 0
    if not any(final in names for names in constant):
        turned = "holds" if sign == "&&" else "does not hold"
        hint = f"a case in which `{writer.text(node)}` {turned}"
        whole = writer.add(node, [Change("condition", final.lower(), hint)])
    text, at = "", node.start_byte
    for side, names in zip(sides, constant, strict=True):
        text += writer.source.between(at, side.start_byte)
        known = neutral in names or CONSTANT.match(writer.text(side))
        text += writer.write(side) if known else _droppable(writer, node, sides, side, neutral.lower())
        at = side.end_byte
    return call("value", whole, text, final.lower()) if whole else text


def _droppable(writer: Writer, node: Node, sides: list[Node], side: Node, neutral: str) -> str:
    """A side that may be left out."""
    sign = " && " if neutral == "true" else " || "
    rest = sign.join(writer.text(other) for other in sides if other != side)
    turned = "does not hold" if neutral == "true" else "holds"
    hint = f"a case in which `{writer.text(side)}` {turned} and nothing else decides `{writer.text(node)}`"
    first = writer.add(node, [Change("condition", rest, hint)])
    text = f"static_cast<bool>({writer.write(side)})"
    if any(inner.type == "call_expression" for inner in descendants(side)):
        value = call("side", first, text, neutral)
        out = call("leaves_out", first)
        return f"({out} || {value})" if neutral == "true" else f"(!{out} && {value})"
    return call("value", first, text, neutral)


def write_condition(writer: Writer, node: Node) -> str:
    """What an `if`, a loop or `?:` asks."""
    inner = bare(node)
    if inner.type in ("declaration", "number_literal", "true", "false") or CONSTANT.match(writer.text(inner)):
        return writer.write(node)
    if is_comparison(writer, inner) or is_chain(writer, inner):
        return writer.write(node)
    if inner.type == "unary_expression" and writer.text(inner).startswith("!"):
        below = bare(field(inner, "argument"))
        if is_comparison(writer, below) or is_chain(writer, below):
            return writer.source.text(node).replace(writer.source.text(inner), f"!({writer.write(below)})", 1)
    text = writer.text(inner)
    first = writer.add(
        inner,
        [
            Change("dropped guard", "true", f"a case in which `{text}` does not hold"),
            Change("dropped guard", "false", f"a case in which `{text}` holds"),
        ],
    )
    written = writer.join(inner) if inner.type == "unary_expression" else writer.write(inner)
    guarded = call("guard", first, f"static_cast<bool>({written})")
    return writer.source.text(node).replace(writer.source.text(inner), guarded, 1)


def write_unary(writer: Writer, node: Node) -> str:
    """`!x` where it is no condition by itself."""
    if field(node, "operator").type != "!":
        return writer.join(node)
    below = bare(field(node, "argument"))
    parent = node.parent
    if is_comparison(writer, below) or is_chain(writer, below) or (parent is not None and is_chain(writer, parent)):
        return writer.join(node)
    text = writer.text(node)
    first = writer.add(node, [Change("condition", f"!{text}", f"a case that gets to `{text}`")])
    return call("negated", first, writer.join(node))
