"""Mutants of calls: votes, transfers, the lesser and greater of two, arguments; and of thread indices."""

from __future__ import annotations

import itertools
import re

from tree_sitter import Node

from opgold.kernels.mutants.arithmetic import write_index
from opgold.kernels.mutants.names import INDEX
from opgold.kernels.mutants.writer import Change, Writer, call, field, flat

_VOTE = re.compile(r"^__syncthreads_(?:and|or|count)$")
_TRANSFER = re.compile(r"^(?:GM2LM|LM2GM|GM2SM|SM2GM|GM2GSM|GSM2GM|LM2SM|SM2LM)$")
_EXTREME = re.compile(r"^(?:std::)?f?(?:min|max)f?(?:<.*>)?$")
_SYMMETRIC = re.compile(r"sum|min|max|equal|same")
_VENDORS = re.compile(r"^(?:__|atomic|static_cast|reinterpret_cast|make_|vload|vstore|vv)|_ASYNC$")


def write_call(writer: Writer, node: Node) -> str:
    function, arguments = field(node, "function"), field(node, "arguments")
    name = writer.text(function)
    values = [child for child in arguments.named_children if child.type != "comment"]
    if INDEX.fullmatch(writer.text(node)):
        return write_index(writer, node)
    if _EXTREME.match(name) and len(values) == 2:
        return _write_extreme(writer, node, name, values)
    if _VOTE.match(name):
        text = writer.text(values[0])
        hint = "a case in which the threads of a block do not agree, or read what others have written"
        first = writer.add(node, [Change("dropped barrier", text, hint)])
        written = writer.join(node)
        return f"({call('keeps', first)} ? {written} : int({flat(writer.source.text(values[0]))}))"
    if _TRANSFER.match(name):
        hint = "a case in which what is copied is used at once"
        first = writer.add(node, [Change("dropped wait", writer.text(node).replace(name, f"{name}_ASYNC", 1), hint)])
        written = writer.write(arguments)
        return f"({call('keeps', first)} ? {name}{written} : {name}_ASYNC{flat(written)})"
    return _write_swaps(writer, node, name, arguments, values)


def _write_extreme(writer: Writer, node: Node, name: str, values: list[Node]) -> str:
    texts = [writer.text(value) for value in values]
    above = "greater" if "min" in name else "less"
    changes = [
        Change("dropped min/max", kept, f"a case in which `{kept}` is {above} than `{other}`")
        for kept, other in (texts, texts[::-1])
    ]
    first = writer.add(node, changes)
    function = f"[](auto opgold_a, auto opgold_b) {{ return {name}(opgold_a, opgold_b); }}"
    arguments = writer.join(field(node, "arguments"))[1:-1]
    return call("extreme", first, function, arguments)


def _write_swaps(writer: Writer, node: Node, name: str, arguments: Node, values: list[Node]) -> str:
    given: dict[int, str] = {}
    own = not _SYMMETRIC.search(name) and not _VENDORS.search(name)
    for one, other in itertools.pairwise(values):
        if not own or one.type != "identifier" or other.type != "identifier" or one.start_byte in given:
            continue
        a, b = writer.text(one), writer.text(other)
        if a == b or not writer.names.may_swap(one, other):
            continue
        after = writer.text(node).replace(f"{a}, {b}", f"{b}, {a}", 1)
        first = writer.add(node, [Change("swapped arguments", after, f"a case in which `{a}` and `{b}` differ")])
        given[one.start_byte] = f"({call('swaps', first, a, b)} ? {b} : {a})"
        given[other.start_byte] = f"({call('swapped', first)} ? {a} : {b})"
    if not given:
        return writer.join(node)
    return writer.join(node, {arguments.start_byte: writer.join(arguments, given)})


def write_field(writer: Writer, node: Node) -> str:
    if INDEX.fullmatch(writer.text(node)):
        return write_index(writer, node)
    return writer.join(node)
