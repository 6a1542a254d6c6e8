"""Mutants of values: arithmetic, constants, indices, conversions, thread indices, arguments."""

from __future__ import annotations

import re

from tree_sitter import Node

from opgold.kernels.mutants.comparisons import (
    COMPARISONS,
    binary_parts,
    is_comparison,
    write_comparison,
    write_operator,
)
from opgold.kernels.mutants.conditions import write_chain
from opgold.kernels.mutants.names import INDEX, WIDE
from opgold.kernels.mutants.writer import Change, Writer, bare, call, field, flat

SIGNS = {
    "+": "Add",
    "-": "Subtract",
    "*": "Multiply",
    "/": "Divide",
    "%": "Remainder",
    "&": "And",
    "|": "Or",
    "^": "Xor",
    "<<": "ShiftLeft",
    ">>": "ShiftRight",
}
_FAULTY = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "&": "|",
    "|": "&",
    "^": "|",
    "<<": ">>",
    ">>": "<<",
}


def write_binary(writer: Writer, node: Node) -> str:
    left, sign, right = binary_parts(writer, node)
    if sign in COMPARISONS:
        return write_comparison(writer, node)
    if sign in ("&&", "||"):
        return write_chain(writer, node)
    if writer.names.is_type(left):
        return writer.join(node, {left.start_byte: writer.source.text(left)})
    if sign not in SIGNS or writer.names.is_pointer(right) or not all(_is_number(writer, n) for n in (left, right)):
        return writer.join(node)
    new = _FAULTY[sign]
    l_text, r_text = writer.text(left), writer.text(right)
    same = {
        "+": f"`{r_text}` is not 0",
        "-": f"`{r_text}` is not 0",
        "&": "the two sides differ",
        "|": "the two sides differ",
    }
    when = same.get(sign, f"`{l_text} {sign} {r_text}` and `{l_text} {new} {r_text}` differ")
    kind = "arithmetic" if sign in "+-*/%" else "bits"
    first = writer.add(node, [Change(kind, f"{l_text} {new} {r_text}", f"a case in which {when}")])
    text = write_operator(writer, node, f"binary<opgold_m::{SIGNS[sign]}, opgold_m::{SIGNS[new]}>", first)
    if sign in "+-*" and (_widened(writer, left) or _widened(writer, right)):
        return _cut(writer, node, text)
    return text


def _is_number(writer: Writer, node: Node) -> bool:
    return not writer.names.is_class(bare(node)) and bare(node).type not in ("initializer_list", "string_literal")


def _widened(writer: Writer, node: Node) -> bool:
    """Whether a value from data is converted to 64 bits before it is reckoned with."""
    inner = wide_cast(writer, node)
    return inner is not None and writer.names.is_data(bare(inner))


def wide_cast(writer: Writer, node: Node) -> Node | None:
    """What a conversion to a 64-bit integer converts; None if `node` is none."""
    node = bare(node)
    if node.type == "cast_expression":
        return field(node, "value") if writer.text(field(node, "type")) in WIDE else None
    if node.type == "call_expression":
        named = re.sub(r"^static_cast<(.*)>$", r"\1", writer.text(field(node, "function")))
        arguments = field(node, "arguments")
        return arguments.named_children[0] if named in WIDE and arguments.named_child_count == 1 else None
    return None


def _cut(writer: Writer, node: Node, text: str) -> str:
    whole = writer.text(node)
    first = writer.add(
        node, [Change("64 to 32 bits", f"int32({whole})", f"a case in which 32 bits do not hold `{whole}`")]
    )
    return call("cut", first, text)


def write_initialiser(writer: Writer, node: Node) -> str:
    """`T name = value`: values that come from 64-bit data are cut, too."""
    value = node.child_by_field_name("value")
    declaration = node.parent
    if value is None or declaration is None:
        return writer.join(node)
    type_ = writer.text(field(declaration, "type"))
    constant = any(writer.text(child) in ("const", "constexpr") for child in declaration.children)
    if constant and bare(value).type in ("number_literal", "true", "false"):
        return writer.source.text(node)  # may be the extent of an array
    if type_ in WIDE and value.type != "initializer_list" and writer.names.loads_wide(value):
        return writer.join(node, {value.start_byte: _cut(writer, value, writer.write(value))})
    return writer.join(node)


def write_number(writer: Writer, node: Node) -> str:
    text = writer.source.text(node)
    after = _other_numbers(writer, node, text)
    if not after:
        return text
    first = writer.add(
        node, [Change("constant", new, f"a case in which `{_user(writer, node)}` matters") for new in after]
    )
    value = call("value", first, text, *after)
    return f"opgold_m::braced({value})" if node.parent is not None and node.parent.type == "initializer_list" else value


def _other_numbers(writer: Writer, node: Node, text: str) -> list[str]:
    match = re.fullmatch(r"(-?(?:0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9']+))([uUlL]*)", text)
    if not match:
        try:
            value = float(text.rstrip("fFlL"))
        except ValueError:
            return []
        return ["1.0f" if value == 0 else f"{2 * value!r}f"] if text.endswith(("f", "F")) else [repr(2 * value + 1)]
    number, suffix = int(match[1].replace("'", ""), 0), match[2]
    parent = node.parent
    if parent is not None and is_comparison(writer, parent):
        return []  # the comparison's mutants say as much
    if number == 0 and parent is not None and parent.type == "conditional_expression":
        return []  # what stands in for a value that there is not, and that nobody looks at
    return [f"{number - 1 if number == 1 else number + 1}{suffix}"]


def write_truth(writer: Writer, node: Node) -> str:
    after = "false" if node.type == "true" else "true"
    first = writer.add(node, [Change("constant", after, f"a case in which `{_user(writer, node)}` matters")])
    return call("value", first, writer.source.text(node), after)


def _user(writer: Writer, node: Node) -> str:
    """What a constant is part of, as far as it fits a line."""
    while node.parent is not None and node.parent.type != "compound_statement" and len(writer.text(node.parent)) <= 60:
        node = node.parent
    return writer.text(node)


def write_subscript(writer: Writer, node: Node) -> str:
    indices = field(node, "indices")
    if indices.named_child_count != 1 or bare(indices.named_children[0]).type == "number_literal":
        return writer.join(node)
    index = indices.named_children[0]
    text, base = writer.text(index), writer.text(field(node, "argument"))
    around = f"a case in which `{base}` has another value beside `{writer.text(node)}`"
    first = writer.add(index, [Change("off by one", f"{_bracketed(text)} + 1", around)])
    inner = writer.source.text(index) if INDEX.fullmatch(text) or _beside(writer, index) else writer.write(index)
    argument = field(node, "argument")
    list_ = writer.join(indices, {index.start_byte: call("index", first, inner)})
    return writer.join(node, {argument.start_byte: writer.write(argument), indices.start_byte: list_})


def _beside(writer: Writer, index: Node) -> bool:
    """`i + 1`: its own mutants are the index's."""
    if index.type != "binary_expression":
        return False
    left, sign, right = binary_parts(writer, index)
    return sign in "+-" and right.type == "number_literal" and left.type in ("identifier", "field_expression")


def _bracketed(text: str) -> str:
    return text if re.fullmatch(r"[\w.\[\]()+]+|\w+ [+*] \w+", text) else f"({text})"


def write_index(writer: Writer, node: Node) -> str:
    """threadIdx.x, core_id(), and their kin; None of them where a comparison with a constant says as much."""
    text = flat(writer.source.text(node))
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        parent = parent.parent
    if parent is not None and is_comparison(writer, parent):
        return writer.source.text(node)
    # An extent of 1 would only have every thread do all the work.
    extent = re.match(r"blockDim|gridDim|core_num|cluster_num|all_cores", text) is not None
    after = [f"{text} + 1"] if extent else ["0", f"{text} + 1"]
    who = "block or cluster" if re.match(r"block|grid|cluster", text) else "thread or core"
    hint = f"a case in which more than one {who} has work here"
    first = writer.add(node, [Change("thread index", new, hint) for new in after])
    return call("value", first, text, *after)
