"""Device C++ of both vendors as a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

# What the grammar does not know, or what only says in which memory a pointer points.
_UNKNOWN = re.compile(
    rb"\b(?:__global_ptr__|_global_ptr_|__shared_ptr__|_shared_ptr_|_group_shared_ptr_|__local__|__simd__"
    rb"|__launch_bounds__\([^()]*\))|^[ \t]*\#[ \t]*pragma\b[^\n]*|\btypename(?=\s+\w+::)",
    re.MULTILINE,
)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_DEFINED = {"cuda": frozenset({"OPGOLD_EMULATOR"}), "xpu": frozenset({"OPGOLD_EMULATOR", "OPGOLD_XPU"})}
_DEVICE = ("__device__", "__global__")


@dataclass(frozen=True)
class Source:
    """One file. Nodes' bytes are those of `content`."""

    file: Path
    content: bytes
    root: Node

    def text(self, node: Node) -> str:
        return self.content[node.start_byte : node.end_byte].decode()

    def between(self, start: int, end: int) -> str:
        return self.content[start:end].decode()


@lru_cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def parse(file: Path, vendor: str) -> Source:
    """Raises SyntaxError for device code that the grammar does not take."""
    content = file.read_bytes()
    source = Source(file, content, _parser().parse(_readable(content, vendor)).root_node)
    for function in device_functions(source):
        for node in descendants(function):
            if node.is_error or node.is_missing:
                raise SyntaxError(
                    f"{file}:{node.start_point.row + 1}: cannot be parsed: {source.text(function)[:60]!r}"
                )
    return source


def device_functions(source: Source) -> Iterator[Node]:
    """Definitions of functions that run on the device, outermost ones."""
    pending = [source.root]
    while pending:
        node = pending.pop()
        if node.type == "function_definition" and any(word in head_of(source, node) for word in _DEVICE):
            yield node
        else:
            pending.extend(reversed(node.children))


def head_of(source: Source, function: Node) -> str:
    """The text of a definition before its body."""
    body = function.child_by_field_name("body")
    return source.between(function.start_byte, body.start_byte if body else function.end_byte)


def descendants(node: Node) -> Iterator[Node]:
    """`node` and what lies in it, in the text's order."""
    yield node
    for child in node.children:
        yield from descendants(child)


def _readable(content: bytes, vendor: str) -> bytes:
    """`content` with blanks in the place of directives, of text that they leave out, and of words unknown to C++."""

    def blank(match: re.Match[bytes]) -> bytes:
        return re.sub(rb"[^\n]", b" ", match.group())

    readable = bytearray(_UNKNOWN.sub(blank, content))
    defined, stack, at = set(_DEFINED[vendor]), [(True, True)], 0
    for match in [*_DIRECTIVE.finditer(content), None]:
        end = match.start() if match else len(content)
        if not stack[-1][0]:
            readable[at:end] = re.sub(rb"[^\n]", b" ", bytes(readable[at:end]))
        if match is None:
            break
        _direct(match.group(1).decode(), match.group(2).decode().strip(), stack, defined)
        readable[match.start() : match.end()] = blank(match)
        at = match.end()
    return bytes(readable)


def _direct(word: str, rest: str, stack: list[tuple[bool, bool]], defined: set[str]) -> None:
    """Follows a directive; `stack` tells of each `#if` whether its text is taken, and whether a later branch may be."""
    if word in ("if", "ifdef", "ifndef"):
        holds = _holds(rest, defined) if word == "if" else (rest.split(maxsplit=1)[0] in defined) == (word == "ifdef")
        outer = stack[-1][0]
        stack.append((outer and holds, outer and not holds))
    elif word in ("else", "elif"):
        _, may = stack.pop()
        holds = may and (word == "else" or _holds(rest, defined))
        stack.append((holds, may and not holds))
    elif word == "endif":
        stack.pop()
    elif word == "define" and stack[-1][0]:
        defined.add(rest.partition("(")[0].split()[0])


def _holds(expression: str, defined: set[str]) -> bool:
    """Whether the condition of an `#if` holds: `defined`, `&&`, `||`, `!`, comparisons; other names are 0."""
    expression = re.sub(r"defined\s*\(?\s*(\w+)\s*\)?", lambda match: str(int(match[1] in defined)), expression)
    expression = re.sub(r"\b[A-Za-z_]\w*\b", "0", expression)
    expression = expression.replace("&&", " and ").replace("||", " or ")
    expression = re.sub(r"!(?!=)", " not ", expression)
    return bool(eval(expression, {"__builtins__": {}}))
