"""What is changed in golden models: for each kind of node, what stands in its place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from opgold.harness.gates.mutation.golden_text import SIGNS, Source
from opgold.harness.gates.mutation.golden_words import Parameters, called

COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.NotEq),
    ast.LtE: (ast.Lt, ast.Eq),
    ast.Gt: (ast.GtE, ast.NotEq),
    ast.GtE: (ast.Gt, ast.Eq),
    ast.Eq: (ast.LtE, ast.GtE),
    ast.NotEq: (ast.Lt, ast.Gt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
# Counts and lengths are never below 0: against 0 these decide as the original does.
ALIKE = {(ast.Gt, ast.NotEq), (ast.NotEq, ast.Gt), (ast.Eq, ast.LtE), (ast.LtE, ast.Eq)}
# Beside the comparison one step of its constant says the same of integers: > 1 and >= 2.
STEPS: Mapping[type[ast.cmpop], int] = {ast.Gt: -1, ast.GtE: 1, ast.Lt: 1, ast.LtE: -1}
ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitXor: ast.BitOr,
}
CHOOSING = ("min", "max", "minimum", "maximum")
WIDE = {"int64": "int32", "uint64": "uint32", "float64": "float32"}


@dataclass(frozen=True)
class Change:
    """A node, the text that stands in its place, and which case tells the two apart."""

    node: ast.AST
    operator: str
    after: str
    hint: str


@dataclass(frozen=True)
class Place:
    """A node with its parent, in a module's text. `known` are the functions of golden models, `silent` the nodes that
    only make up messages."""

    source: Source
    parent: ast.AST
    known: Parameters
    silent: frozenset[ast.AST]


def changes(node: ast.AST, place: Place) -> Iterator[Change]:
    """What is made of one expression or statement."""
    for kind, make in MAKERS.items():
        if isinstance(node, kind):
            yield from make(node, place)


def differ(before: str, after: str) -> str:
    return f"a case in which `{before}` and `{after}` differ"


def comparisons(node: ast.Compare, at: Place) -> Iterator[Change]:
    operands = [node.left, *node.comparators]
    for left, old, right in zip(operands, node.ops, node.comparators, strict=False):
        words = [at.source.words(left), at.source.words(right)]
        for kind in COMPARISONS[type(old)]:
            if (type(old), kind) in ALIKE and _is_zero(right):
                continue
            new = kind()
            after = at.source.with_sign(node, left, right, old, new)
            hint = differ(
                SIGNS[type(old)].join((f"{words[0]} ", f" {words[1]}")), f"{words[0]} {SIGNS[kind]} {words[1]}"
            )
            yield Change(node, "comparison", after, hint)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def binary(node: ast.BinOp, at: Place) -> Iterator[Change]:
    if isinstance(node.op, ast.BitAnd | ast.BitOr):
        for kept, dropped in ((node.left, node.right), (node.right, node.left)):
            yield Change(node, "condition", at.source.of(kept), f"a case in which `{at.source.words(dropped)}` decides")
    elif other := ARITHMETIC.get(type(node.op)):
        after = at.source.with_sign(node, node.left, node.right, node.op, other())
        yield Change(node, "arithmetic", after, differ(at.source.words(node), " ".join(after.split())))


def unary(node: ast.UnaryOp, at: Place) -> Iterator[Change]:
    if not isinstance(node.operand, ast.Constant):
        operator = "arithmetic" if isinstance(node.op, ast.USub) else "condition"
        hint = differ(at.source.words(node), at.source.words(node.operand))
        yield Change(node, operator, at.source.of(node.operand), hint)


def sides(node: ast.BoolOp, at: Place) -> Iterator[Change]:
    word = " and " if isinstance(node.op, ast.And) else " or "
    for side in node.values:
        after = word.join(at.source.of(value) for value in node.values if value is not side)
        yield Change(node, "condition", after, f"a case in which `{at.source.words(side)}` decides")


def arms(node: ast.IfExp, at: Place) -> Iterator[Change]:
    test = at.source.words(node.test)
    for arm, when in ((node.body, "false"), (node.orelse, "true")):
        yield Change(node, "condition", at.source.of(arm), f"a case in which `{test}` is {when}")


def constants(node: ast.Constant, at: Place) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield Change(node, "constant", str(not value), f"a case in which it matters that this is {value}")
    elif isinstance(value, int | float) and not (isinstance(at.parent, ast.BinOp) and _is_base(node, at.parent)):
        steps = [step for step in (1, -1) if step != _compared(node, at.parent)]
        for other in (value + step for step in steps):
            yield Change(node, "constant", str(other), f"a case in which {other} in the place of {value} matters")


def _compared(node: ast.Constant, parent: ast.AST) -> int:
    """The step that a comparison of it makes, too; 0 if there is none."""
    if not isinstance(parent, ast.Compare) or len(parent.ops) > 1 or node is not parent.comparators[0]:
        return 0
    return STEPS.get(type(parent.ops[0]), 0)


def _is_base(node: ast.Constant, parent: ast.BinOp) -> bool:
    return isinstance(parent.op, ast.Pow) and node is parent.left  # of 2**31 the 31 will do


def bounds(node: ast.Subscript, at: Place) -> Iterator[Change]:
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        for bound in (part.lower, part.upper) if isinstance(part, ast.Slice) else (part,):
            if bound is not None and not _has_constant(bound) and not _is_mask(bound):
                yield from _shifted(bound, at)


def _has_constant(bound: ast.expr) -> bool:
    """Whether it is off by one when its constant is."""
    if isinstance(bound, ast.UnaryOp):
        return isinstance(bound.operand, ast.Constant)
    if isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Add | ast.Sub):
        return isinstance(bound.right, ast.Constant)
    return isinstance(bound, ast.Constant)


def _is_mask(bound: ast.expr) -> bool:
    joined = isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.BitAnd | ast.BitOr)
    return joined or isinstance(bound, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Tuple)


def _shifted(bound: ast.expr, at: Place) -> Iterator[Change]:
    for sign in "+-":
        after = f"{at.source.of(bound)} {sign} 1"
        yield Change(bound, "off by one", after, differ(at.source.words(bound), " ".join(after.split())))


def calls(node: ast.Call, at: Place) -> Iterator[Change]:
    name, arguments, of = called(node), node.args, at.source.words
    if name in CHOOSING and len(arguments) == 2 and not node.keywords:
        for kept, dropped in (arguments, arguments[::-1]):
            yield Change(node, "dropped min/max", at.source.of(kept), f"a case in which `{of(dropped)}` is chosen")
    elif name == "where" and len(arguments) == 3:
        for arm, when in ((arguments[1], "false"), (arguments[2], "true")):
            yield Change(node, "condition", at.source.of(arm), f"a case in which `{of(arguments[0])}` is {when}")
    elif name == "range":
        end = arguments[min(1, len(arguments) - 1)]
        if not _has_constant(end):
            yield from _shifted(end, at)
    elif name in at.known:
        yield from _swapped(node, at)


def _swapped(node: ast.Call, at: Place) -> Iterator[Change]:
    for left, right in zip(node.args, node.args[1:], strict=False):
        names = isinstance(left, ast.Name) and isinstance(right, ast.Name)
        one, other = at.source.of(left), at.source.of(right)
        if names and one != other and left not in at.silent and right not in at.silent:
            start, end = at.source.span(node)
            first, behind = at.source.span(left)[0], at.source.span(right)[1]
            gap = at.source.text[at.source.span(left)[1] : at.source.span(right)[0]]
            after = at.source.text[start:first] + other + gap + one + at.source.text[behind:end]
            yield Change(node, "swapped arguments", after, differ(one, other))


def widths(node: ast.Attribute, at: Place) -> Iterator[Change]:
    if node.attr in WIDE and isinstance(node.value, ast.Name):
        narrow = WIDE[node.attr]
        hint = f"a case with values that {narrow} cannot hold"
        yield Change(node, "64 to 32 bits", f"{at.source.of(node.value)}.{narrow}", hint)


def guards(node: ast.If, at: Place) -> Iterator[Change]:
    when = at.source.words(node.test)
    yield Change(node.test, "dropped guard", "False", f"a case in which `{when}` is true")
    if not all(isinstance(part, ast.Raise) for part in node.body):
        yield Change(node.test, "dropped guard", "True", f"a case in which `{when}` is false")


def statements(node: ast.stmt, at: Place) -> Iterator[Change]:
    text = at.source.words(node)
    if isinstance(node, ast.AugAssign) and (other := ARITHMETIC.get(type(node.op))):
        after = at.source.with_sign(node, node.target, node.value, node.op, other())
        yield Change(node, "arithmetic", after, differ(text, " ".join(after.split())))
    parent = at.parent
    guarded = isinstance(parent, ast.If) and parent.body == [node] and not parent.orelse  # dropped with its guard
    last = isinstance(node, ast.Return) and isinstance(parent, ast.FunctionDef) and node is parent.body[-1]
    if _may_be_dropped(node) and not guarded and not last:
        yield Change(node, "dropped statement", "pass", f"a case in which `{text}` matters")


def _may_be_dropped(node: ast.stmt) -> bool:
    """Whether the function still makes sense without a statement: it defines no name that others read."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Subscript | ast.Attribute) for target in node.targets)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Yield)
    return isinstance(node, ast.Continue | ast.Break | ast.AugAssign | ast.Return)


MAKERS: Mapping[type[ast.AST], Callable[..., Iterator[Change]]] = {
    ast.Compare: comparisons,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.BoolOp: sides,
    ast.IfExp: arms,
    ast.Constant: constants,
    ast.Subscript: bounds,
    ast.Call: calls,
    ast.Attribute: widths,
    ast.If: guards,
    ast.stmt: statements,
}
