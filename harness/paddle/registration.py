"""Writes the C++ that registers the ops as Paddle custom operators: a table for kernels/bindings/paddle/operators.h."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from opgold.harness.paddle.form import CallForm, form_of
from opgold.reference import schema
from opgold.reference.schema import Argument, names_in

KINDS = {bool: "boolean", int: "integer", float: "real"}


@dataclass(frozen=True)
class Operator:
    """How an op is registered. `inputs` and `attributes` are those of FastDeploy's call in order, then those beyond it,
    then (`sizes`) extents that follow from what tensors hold. `made` are the new tensors, in order."""

    form: CallForm
    name: str
    inputs: tuple[str, ...]
    attributes: tuple[str, ...]
    sizes: tuple[str, ...]
    made: tuple[str, ...]

    @property
    def op(self) -> str:
        return self.form.op


@cache
def operators() -> tuple[Operator, ...]:
    """Every op. Of several with one name, the one that is called so has it; the others have their own."""
    return tuple(_operator(form_of(op)) for op in schema.ops())


def _operator(form: CallForm) -> Operator:
    signature = form.signature
    made = tuple(a.name for a in signature.arguments if not a.reads or a.name in form.allocated)
    arrays = [a.name for a in signature.arguments if a.name not in made]
    order = [*form.order, *(name for name in form.beyond if name not in made)]
    inputs = tuple(name for name in order if name in arrays)
    attributes = tuple(name for name in order if name not in arrays)
    symbols = {symbol for name in made for dim in _dims(form, name) for symbol in names_in(dim)}
    bound = {dim for name in inputs for dim in _dims(form, name)} | set(attributes)
    name = form.op if form.name in schema.ops() else form.name
    return Operator(form, name, inputs, attributes, tuple(sorted(symbols - bound)), made)


def _dims(form: CallForm, name: str) -> tuple[str, ...]:
    return form.allocated.get(name, form.signature.argument(name).dims)


def source() -> str:
    """The unit."""
    rows = ",\n".join(_row(operator) for operator in operators())
    count = len(operators())
    return f"""// Written by harness/paddle/registration.py.
#include "bindings/paddle/operators.h"

namespace opgold::operators {{

const std::vector<Operator>& table() {{
  static const std::vector<Operator> made = {{
{rows}}};
  return made;
}}

static const bool declared = declare_all(std::make_index_sequence<{count}>());

}}  // namespace opgold::operators
"""


def _row(operator: Operator) -> str:
    signature = operator.form.signature
    arguments = "".join(f"        {line},\n" for line in _arguments(operator))
    attributes = "".join(
        f'        {{"{a.name}", {KINDS[a.kind]}, {operator.attributes.index(a.name)}}},\n' for a in signature.attributes
    )
    sizes = ", ".join(f'"{name}"' for name in operator.sizes)
    lists = f"       {{\n{arguments}       }},\n       {{\n{attributes}       }},\n       {{{sizes}}},\n"
    return f'      {{"{operator.op}", "{operator.name}",\n{lists}       {_shapes(operator)}}}'


def _arguments(operator: Operator) -> Iterator[str]:
    signature = operator.form.signature
    for argument in signature.arguments:
        name = argument.name
        is_new = name in operator.made
        flags = [f"opgold_{what}" for what in ("reads", "writes") if getattr(argument, what)]
        place = -1 if is_new else operator.inputs.index(name)
        output = operator.made.index(name) if is_new else -1
        dtype, same = _dtype(operator, argument) if is_new else ("0", -1)
        optional = "true" if argument.optional else "false"
        yield (
            f'{{"{name}", {len(argument.dims)}, {" | ".join(flags)}, {place}, {optional}, {output}, {dtype}, {same}}}'
        )


def _dtype(operator: Operator, argument: Argument) -> tuple[str, int]:
    """Of a new tensor: its own, or the place of a required input of its family."""
    if len(argument.dtypes) == 1:
        return f"opgold_{argument.dtypes[0]}", -1
    for place, name in enumerate(operator.inputs):
        other = operator.form.signature.argument(name)
        if other.family == argument.family and not other.optional:
            return "0", place
    raise TypeError(f"{operator.op}: {argument.name}: no required input tells its dtype")


def _shapes(operator: Operator) -> str:
    """A function from what is known to the shapes of the new tensors."""
    form = operator.form
    wanted = [_dims(form, name) for name in operator.made]
    lines = []
    for symbol in dict.fromkeys(s for dims in wanted for dim in dims for s in names_in(dim)):
        lines.append(f"const Extent {symbol} = {_known(operator, symbol)};")
    shapes = ", ".join("Shape{" + ", ".join(f"Extent({_cpp(dim)}).value" for dim in dims) + "}" for dims in wanted)
    return f"[](const Known& known) {{ {' '.join(lines)} (void)known; return std::vector<Shape>{{{shapes}}}; }}"


def _known(operator: Operator, symbol: str) -> str:
    """Where a symbol's value is read: an attribute, a dimension of a required input, a size."""
    if symbol in operator.attributes:
        return f"known.attribute({operator.attributes.index(symbol)})"
    for place, name in enumerate(operator.inputs):
        argument = operator.form.signature.argument(name)
        if symbol in argument.dims and not argument.optional:
            return f"known.input({place}, {argument.dims.index(symbol)})"
    if symbol in operator.sizes:
        return f"known.attribute({len(operator.attributes) + operator.sizes.index(symbol)})"
    raise TypeError(f"{operator.op}: no required input binds {symbol}")


def _cpp(dim: str) -> str:
    """An extent in C++: the same expression, whose numbers are extents, too."""

    def text(node: ast.expr) -> str:
        if isinstance(node, ast.BinOp):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/"}[type(node.op)]
            return f"({text(node.left)} {sign} {text(node.right)})"
        return node.id if isinstance(node, ast.Name) else f"Extent({ast.unparse(node)})"

    return text(ast.parse(dim, mode="eval").body)
