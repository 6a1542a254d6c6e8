"""Mutants of what is done: statements, barriers, fences, jumps, assignments."""

from __future__ import annotations

import re

from tree_sitter import Node

from opgold.kernels.mutants.arithmetic import SIGNS
from opgold.kernels.mutants.comparisons import binary_parts
from opgold.kernels.mutants.conditions import write_condition
from opgold.kernels.mutants.parse import descendants
from opgold.kernels.mutants.writer import Change, Writer, call, field, flat

_BARRIER = re.compile(r"^(?:__syncthreads(?:_and|_or|_count)?|__syncwarp|sync_cluster|sync_all)$")
_FENCE = re.compile(r"^mfence(?:_lm|_sm)?$")
_UNSEEN = re.compile(r"^(?:__threadfence(?:_block|_system)?|__nanosleep)$")  # nothing shows them on an emulator
# That a statement is left out tells what another sign would tell.
_ASSIGNED = {
    "+": ("Right",),
    "*": ("Right",),
    "|": ("Right",),
    "&": ("Right",),
    "^": ("Right",),
}


def write_expression_statement(writer: Writer, node: Node) -> str:
    """A statement that may be left out."""
    inner = next(iter(node.named_children), None)
    if inner is None or inner.type == "comment":
        return writer.source.text(node)
    name = _callee(writer, inner)
    if _UNSEEN.match(name) or _alone_in_if(node):
        return writer.join(node)
    text = writer.text(inner)
    kind, hint = "dropped statement", f"a case in which what `{text}` does is seen"
    if _BARRIER.match(name):
        kind, hint = (
            "dropped barrier",
            "a case in which threads read here what others have written, in another order of threads",
        )
    elif _FENCE.match(name):
        kind, hint = "dropped fence", f"a case in which what was written before `{text}` is read behind it"
    first = writer.add(node, [Change(kind, "", hint)])
    return f"({call('keeps', first)} ? (void)({writer.write(inner)}) : (void)0);"


def _callee(writer: Writer, node: Node) -> str:
    return writer.text(field(node, "function")) if node.type == "call_expression" else ""


def _alone_in_if(node: Node) -> bool:
    """Whether the guard's mutants leave it out as well."""
    parent = node.parent
    if parent is not None and parent.type == "compound_statement" and parent.named_child_count == 1:
        node, parent = parent, parent.parent
    return (
        parent is not None
        and parent.type == "if_statement"
        and parent.child_by_field_name("alternative") is None
        and field(parent, "condition").named_children[0].type != "declaration"
    )


def write_jump(writer: Writer, node: Node) -> str:
    """`return;`, `continue;` and `break;`."""
    parent = node.parent
    if node.named_child_count or _alone_in_if(node) or _last(node):
        return writer.join(node)
    text = writer.text(node)
    first = writer.add(node, [Change("dropped statement", "", f"a case that gets to `{text}`")])
    assert parent is not None
    return f"{{ if ({call('keeps', first)}) {writer.source.text(node)} }}"


def _last(node: Node) -> bool:
    """Whether a jump ends what would end anyway."""
    block = node.parent
    if block is None or block.type != "compound_statement" or block.named_children[-1] != node:
        return False
    owner = block.parent
    return owner is not None and owner.type in (
        "function_definition",
        "lambda_expression",
        "for_statement",
        "while_statement",
    )


def write_if(writer: Writer, node: Node) -> str:
    condition = field(node, "condition")
    if any(child.type == "constexpr" for child in node.children):
        return writer.join(node, {condition.start_byte: writer.source.text(condition)})
    return writer.join(node, {condition.start_byte: write_condition(writer, condition)})


def write_conditional(writer: Writer, node: Node) -> str:
    """`while`, `do`, `?:`."""
    condition = field(node, "condition")
    return writer.join(node, {condition.start_byte: write_condition(writer, condition)})


def write_for(writer: Writer, node: Node) -> str:
    given = {}
    condition, update = node.child_by_field_name("condition"), node.child_by_field_name("update")
    if condition is not None:
        given[condition.start_byte] = write_condition(writer, condition)
    if update is not None:  # a step that is left out never ends
        given[update.start_byte] = writer.join(update)
    return writer.join(node, given)


def write_declaration(writer: Writer, node: Node) -> str:
    words = {writer.text(child) for child in node.children}
    if words & {"__shared__", "constexpr", "static", "extern", "__group_shared__"}:
        return writer.source.text(node)
    return writer.join(node)


def write_assignment(writer: Writer, node: Node) -> str:
    left, sign, right = binary_parts(writer, node)
    names: tuple[str, ...] = _ASSIGNED.get(sign[:-1], ()) if sign != "=" else ()
    if writer.names.is_pointer(left):
        names = tuple(name for name in names if name != "Right")
    if not names or not _repeatable(left) or writer.names.is_class(left):
        return writer.join(node)
    l_text, r_text = writer.text(left), writer.text(right)
    signs = {name: other for other, name in SIGNS.items()}
    changes = [
        Change(
            "assignment",
            f"{l_text} = {r_text}" if name == "Right" else f"{l_text} {signs[name]}= {r_text}",
            f"a case in which `{l_text}` holds something already"
            if name == "Right"
            else f"a case in which `{r_text}` is not 0",
        )
        for name in names
    ]
    first = writer.add(node, changes)
    types = ", ".join(f"opgold_m::{name}" for name in (SIGNS[sign[:-1]], *names))
    target = writer.write(left)
    return f"{target} = opgold_m::binary<{types}>({first}, {flat(target)}, {writer.write(right)})"


def _repeatable(node: Node) -> bool:
    """Whether it may be evaluated twice."""
    return not any(
        inner.type in ("call_expression", "update_expression", "assignment_expression", "lambda_expression")
        for inner in descendants(node)
    )


def write_update(writer: Writer, node: Node) -> str:
    """`++x` inside an expression."""
    parent = node.parent
    argument = field(node, "argument")
    if (
        parent is None
        or parent.type in ("expression_statement", "for_statement", "comma_expression")
        or not _repeatable(argument)
    ):
        return writer.join(node)
    text = writer.text(node)
    first = writer.add(
        node, [Change("dropped statement", writer.text(argument), f"a case that gets to `{text}` twice")]
    )
    written = writer.join(node)
    return f"({call('keeps', first)} ? {written} : {flat(writer.source.text(argument))})"
