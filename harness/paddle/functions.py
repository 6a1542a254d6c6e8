"""opgold's Paddle operators as Python functions with FastDeploy's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from opgold.harness.paddle import registration
from opgold.harness.paddle.form import form_of, sharing
from opgold.harness.paddle.operators import registered
from opgold.harness.paddle.registration import Operator
from opgold.harness.paddle.tensors import to_array
from opgold.reference import schema


@cache
def names() -> Mapping[str, str]:
    """Every name that has an operator, FastDeploy's and opgold's, and its op."""
    ops = {op: op for op in schema.ops()}
    return {form_of(op).name: sharing(form_of(op).name)[0] for op in ops} | ops


@cache
def function(op: str) -> Callable[..., Any]:
    """The op as FastDeploy calls it. What FastDeploy's call has not is given by keyword.

    Returns the new tensors, in a list if there are several. Tensors may be `[n, 1]` where the op has `[n]`.
    """
    operator = next(operator for operator in registration.operators() if operator.op == op)
    form = operator.form
    signature = _signature(operator)

    def call(*args: Any, **keywords: Any) -> Any:
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        given = dict(bound.arguments)
        for attribute in form.signature.attributes:
            if hasattr(given[attribute.name], "numpy"):
                given[attribute.name] = attribute.kind(given[attribute.name].item())
        made = registered().call(operator, given, sizes_of(operator, given))
        return made if len(made) > 1 else made[0] if made else None

    call.__name__ = call.__qualname__ = op
    call.__doc__ = f"Paddle's form of {op}.\n\n{inspect.getdoc(form.signature.model)}"
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _signature(operator: Operator) -> inspect.Signature:
    form, parameter = operator.form, inspect.Parameter
    defaults = {a.name: a.default for a in form.signature.attributes}
    defaults |= {a.name: None for a in form.signature.arguments if a.optional}
    parameters: list[inspect.Parameter] = []
    required_follows = False
    for name in reversed(form.order):  # a default in front of what must be given is none
        default = parameter.empty if required_follows else defaults.get(name, parameter.empty)
        required_follows = default is parameter.empty
        parameters.insert(0, parameter(name, parameter.POSITIONAL_OR_KEYWORD, default=default))
    for name, beyond in form.beyond.items():
        if name not in operator.made:
            parameters.append(parameter(name, parameter.KEYWORD_ONLY, default=beyond.value))
    return inspect.Signature(parameters)


def sizes_of(operator: Operator, given: Mapping[str, Any]) -> dict[str, int]:
    """The extents that follow from what tensors hold."""
    signature = operator.form.signature
    if not operator.sizes or signature.sizes is None:
        return {}
    values = {}
    for name in inspect.signature(signature.sizes).parameters:
        value = given[name]
        if name in operator.inputs and value is not None:
            array = to_array(value)
            value = array.reshape(array.shape[: len(signature.argument(name).dims)])
        values[name] = value
    return {name: max(0, int(extent)) for name, extent in signature.sizes(**values).items()}
