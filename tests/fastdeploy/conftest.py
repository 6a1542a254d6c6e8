"""Modules of Paddle ops, computed by the golden models, and what is planted in them."""

import inspect
import os
import sys
import types

import pytest

from opgold.harness.backends.module import Module
from opgold.harness.paddle.form import form_of
from opgold.harness.paddle.tensors import to_array, to_tensor
from opgold.harness.runner import poisoned


def write(tensor, array):
    """Put an array's content into a tensor, which keeps its place."""
    if array.size:
        tensor.set_value(to_tensor(array.reshape(tensor.shape)))


def function_of(op, names=None):
    """A function on Paddle tensors that is called as FastDeploy calls the op; `names` are its parameters."""
    form = form_of(op)
    names = names or form.order
    signature = form.signature

    def call(*given):
        tensors = dict(zip(names, given, strict=True))
        arguments = {a.name: a for a in signature.arguments}
        inputs = {}
        for name, value in tensors.items():
            if name in arguments and value is not None:
                array = to_array(value)
                inputs[name] = array.reshape(array.shape[: len(arguments[name].dims)])
            elif value is not None:
                inputs[name] = value.item() if name in form.tensors else value
        for name, beyond in form.beyond.items():
            if name not in inputs and beyond.value is not None:
                said = os.environ.get(beyond.environment) if beyond.environment else None
                inputs[name] = beyond.value if said is None else type(beyond.value)(int(said))
        for name in form.allocated:
            first = inputs[form.inputs[0]]
            inputs[name] = poisoned(name, first.shape, first.dtype, 0)
        symbols = signature.bind(inputs)
        outputs = {
            name: poisoned(name, shape, signature.dtype(signature.argument(name), inputs), 0)
            for name, shape in signature.shapes(symbols).items()
        }
        signature.call(inputs, outputs)
        for name, tensor in tensors.items():
            if name in arguments and arguments[name].writes and tensor is not None:
                write(tensor, inputs[name])
        new = [to_tensor((inputs | outputs)[name]) for name in form.returns]
        return new if len(new) > 1 else new[0] if new else None

    parameter = inspect.Parameter
    call.__signature__ = inspect.Signature([parameter(n, parameter.POSITIONAL_OR_KEYWORD) for n in names])
    return call


def replacing(op, change):
    """The op, but `change` sees its tensors by name, and what it returned, and returns something else."""
    right = function_of(op)
    names = form_of(op).order

    def call(*given):
        return change(dict(zip(names, given, strict=True)), right(*given))

    call.__signature__ = right.__signature__
    return call


@pytest.fixture
def module(monkeypatch):
    """Makes a backend of functions: `module(name=function)`; `right` and `changed` make functions."""

    def make(*, contract=None, **functions):
        made = types.ModuleType("planted_ops")
        vars(made).update(functions)
        monkeypatch.setitem(sys.modules, "planted_ops", made)
        return Module(f"module:planted_ops{f'@{contract}' if contract else ''}")

    make.right, make.changed = function_of, replacing
    return make
