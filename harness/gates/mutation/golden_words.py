"""Which expressions of golden models only make up a message: what a refusal says is not what it decides."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

# Of each function the names of its parameters in order, and which of them only its messages hold.
Parameters = Mapping[str, tuple[tuple[str, ...], frozenset[str]]]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions and methods of a module."""
    for node in tree.body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        yield from (member for member in members if isinstance(member, ast.FunctionDef))


def parameters(trees: Iterable[ast.Module]) -> Parameters:
    """Which parameters of functions go into messages alone, directly or through functions that they are passed to."""
    defined = [function for tree in trees for function in functions(tree)]
    known: Parameters = {function.name: (_names(function), frozenset()) for function in defined}
    while True:
        found: Parameters = {}
        for function in defined:
            words = said(function, known)
            only = frozenset(name for name in _names(function) if _only_in(function, name, words))
            found = {**found, function.name: (_names(function), only)}
        if found == known:
            return known
        known = found


def said(function: ast.FunctionDef, known: Parameters) -> set[ast.AST]:
    """The nodes of a function that only make up messages."""
    nodes: set[ast.AST] = set()
    while True:
        before = len(nodes)
        for node in ast.walk(function):
            if isinstance(node, ast.Raise):
                nodes.update(part for child in ast.iter_child_nodes(node) for part in ast.walk(child))
            elif isinstance(node, ast.Call):
                nodes.update(part for argument in _words(node, known) for part in ast.walk(argument))
            elif isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                if len(names) == len(node.targets) and all(_only_in(function, name, nodes) for name in names):
                    nodes.update(ast.walk(node))
        if len(nodes) == before:
            return nodes


def called(call: ast.Call) -> str:
    """The bare name of what is called; empty if it has none."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _names(function: ast.FunctionDef) -> tuple[str, ...]:
    listed = function.args
    return tuple(argument.arg for argument in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs))


def _words(call: ast.Call, known: Parameters) -> Iterator[ast.expr]:
    """The arguments of a call that its function only puts into messages."""
    name = called(call)
    if name not in known:
        return
    order, only = known[name]
    order = order[1:] if order[:1] == ("self",) else order
    yield from (argument for name, argument in zip(order, call.args, strict=False) if name in only)
    yield from (keyword.value for keyword in call.keywords if keyword.arg in only)


def _only_in(function: ast.FunctionDef, name: str, words: set[ast.AST]) -> bool:
    """Whether a name is read in messages, and nowhere else."""
    loads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return bool(loads) and all(load in words for load in loads)
