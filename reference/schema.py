"""The vocabulary of golden-model signatures, and what a signature declares.

A golden model's Python signature is the only declaration of an op:

    def op(x: In[Int32[ndarray, "bsz"]], y: In[Hidden[ndarray, "tokens width"]] | None = None, *,
           limit: int, out: Out[Int64[ndarray, "bsz+1"]]) -> None

An array argument has a direction, a dtype (or a named family of dtypes) and a symbolic shape; `None` as default marks
an optional input; a plain `int`, `bool` or `float` is an attribute; outputs are keyword-only and are written in place.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import operator
import pkgutil
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import ml_dtypes
import numpy as np

if TYPE_CHECKING:  # an abstract dtype of jaxtyping is no type to a type checker
    from jaxtyping import Float as Hidden, Shaped as HiddenOrIds

    __all__ = ["Hidden", "HiddenOrIds"]
else:
    from jaxtyping import AbstractDtype

    class Hidden(AbstractDtype):
        """A hidden state's element type. One signature means one dtype by it."""

        dtypes = ("float32", "float16", "bfloat16")

    class HiddenOrIds(AbstractDtype):
        """The element type of packed rows that may be token ids, too."""

        dtypes = (*Hidden.dtypes, "int64")


class Direction(enum.Enum):
    """Whether an op reads an argument, writes it, or both."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


T = TypeVar("T")
In = Annotated[T, Direction.IN]
Out = Annotated[T, Direction.OUT]
InOut = Annotated[T, Direction.INOUT]

VENDORS = ("cuda", "xpu")  # whose kernels there are

Scalar = bool | int | float
Value = np.ndarray | Scalar | None


class ContractError(ValueError):
    """An input outside an op's contract. The message names op, argument, index and value."""


class UnknownOp(ValueError):
    """A name that no golden model has."""


@dataclass(frozen=True)
class Argument:
    """An array argument: `dims` are symbolic extents, `dtypes` what it may hold, `family` their common name."""

    name: str
    direction: Direction
    family: str
    dtypes: tuple[str, ...]
    dims: tuple[str, ...]
    optional: bool

    @property
    def reads(self) -> bool:
        return self.direction is not Direction.OUT

    @property
    def writes(self) -> bool:
        return self.direction is not Direction.IN

    @property
    def shape_text(self) -> str:
        return f"[{', '.join(self.dims)}]"


@dataclass(frozen=True)
class Attribute:
    """A host-side parameter; `default` is `inspect.Parameter.empty` when it must be given."""

    name: str
    kind: type
    default: Any

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Signature:
    """What a golden model declares.

    Beside the model its module may hold `sizes()`, which chooses extents that no input binds, `ULPS`, by how many
    representable values a kernel's floating-point output may differ (0 where not named), and `VENDORS`, who have the op
    (all where not named).
    """

    op: str
    model: Callable[..., None]
    arguments: tuple[Argument, ...]
    attributes: tuple[Attribute, ...]
    sizes: Callable[..., dict[str, int]] | None
    ulps: Mapping[str, int]
    vendors: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.reads)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.direction is Direction.OUT)

    @property
    def written(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.writes)

    def argument(self, name: str) -> Argument:
        return next(a for a in self.arguments if a.name == name)

    def bind(self, inputs: Mapping[str, Value], sizes: Mapping[str, int] | None = None) -> dict[str, int]:
        """Check `inputs` against the signature and return every symbol's extent.

        `sizes` overrides what `sizes()` beside the model would choose. Raises ContractError naming op and argument.
        """
        known = {a.name for a in self.inputs} | {a.name for a in self.attributes}
        for name in inputs:
            if name not in known:
                raise self.error(f"{name}: no such input; it has {', '.join(sorted(known))}")
        symbols: dict[str, int] = {}
        for attribute in self.attributes:
            value = self._attribute(attribute, inputs)
            if attribute.kind is int:
                symbols[attribute.name] = int(value)
        arrays = [(a, self._array(a, inputs)) for a in self.inputs]
        given = [(argument, array) for argument, array in arrays if array is not None]
        self._check_families(given)
        origin = {name: f"attribute {name}" for name in symbols}
        for argument, array in given:
            for axis, dim in enumerate(argument.dims):
                if dim.isidentifier() and dim not in symbols:
                    symbols[dim], origin[dim] = array.shape[axis], f"{argument.name}.shape[{axis}]"
        for argument, array in given:
            self._check_shape(argument, array, symbols, origin)
        return symbols | self._free_sizes(inputs, sizes or {})

    def shapes(self, symbols: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Shape of every output. Raises ContractError for an extent below zero."""
        shapes: dict[str, tuple[int, ...]] = {}
        for argument in self.outputs:
            extents = [evaluate(dim, symbols) for dim in argument.dims]
            for dim, extent in zip(argument.dims, extents, strict=True):
                if extent is None:
                    raise self.error(f"{argument.name}: nothing binds {dim}")
                if extent < 0:
                    raise self.error(f"{argument.name}: {dim} is {extent}, expected at least 0")
            shapes[argument.name] = tuple(e for e in extents if e is not None)
        return shapes

    def dtype(self, argument: Argument, inputs: Mapping[str, Value]) -> np.dtype:
        """The dtype an output has for these inputs: its own, or the one its family takes in the inputs."""
        if len(argument.dtypes) == 1:
            return as_dtype(argument.dtypes[0])
        for other in self.inputs:
            value = inputs.get(other.name)
            if other.family == argument.family and isinstance(value, np.ndarray):
                return value.dtype
        raise self.error(f"{argument.name}: no input tells which of {', '.join(argument.dtypes)} it is")

    def complete(self, inputs: Mapping[str, Value]) -> dict[str, Value]:
        """`inputs` with absent optional inputs as None and attribute defaults filled in, in signature order."""
        values: dict[str, Value] = {a.name: inputs.get(a.name) for a in self.inputs}
        values |= {a.name: inputs.get(a.name, a.default) for a in self.attributes}
        return values

    def call(self, inputs: Mapping[str, Value], outputs: Mapping[str, np.ndarray]) -> None:
        """Run the model in place. A refusal becomes a ContractError that names the op."""
        try:
            self.model(**self.complete(inputs), **outputs)
        except ContractError:
            raise
        except ValueError as refusal:
            raise self.error(str(refusal)) from refusal

    def error(self, message: str) -> ContractError:
        return ContractError(f"{self.op}: {message}")

    def _attribute(self, attribute: Attribute, inputs: Mapping[str, Value]) -> Scalar:
        value = inputs.get(attribute.name, attribute.default)
        if value is inspect.Parameter.empty:
            raise self.error(f"{attribute.name}: attribute ({attribute.kind.__name__}) is required")
        fits = isinstance(value, attribute.kind) and (attribute.kind is bool or not isinstance(value, bool))
        if not fits and not (attribute.kind is float and type(value) is int):
            raise self.error(f"{attribute.name}: {value!r} is no {attribute.kind.__name__}")
        return typing.cast(Scalar, value)

    def _array(self, argument: Argument, inputs: Mapping[str, Value]) -> np.ndarray | None:
        value = inputs.get(argument.name)
        if value is None:
            if argument.optional:
                return None
            raise self.error(f"{argument.name}: input is required")
        if not isinstance(value, np.ndarray):
            raise self.error(f"{argument.name}: {type(value).__name__}, expected an array")
        if value.dtype.name not in argument.dtypes:
            raise self.error(f"{argument.name}: dtype {value.dtype.name}, expected {' or '.join(argument.dtypes)}")
        if value.ndim != len(argument.dims):
            raise self.error(f"{argument.name}: shape {value.shape}, expected {argument.shape_text}")
        return value

    def _check_shape(
        self, argument: Argument, array: np.ndarray, symbols: Mapping[str, int], origin: Mapping[str, str]
    ) -> None:
        for axis, dim in enumerate(argument.dims):
            expected = evaluate(dim, symbols)
            if expected is not None and array.shape[axis] != expected:
                means = origin.get(dim, ", ".join(f"{s} = {symbols[s]}" for s in names_in(dim)))
                raise self.error(
                    f"{argument.name}: shape {array.shape}, expected {argument.shape_text}:"
                    f" dimension {axis} is {array.shape[axis]}, expected {expected} (by {means})"
                )

    def _free_sizes(self, inputs: Mapping[str, Value], chosen: Mapping[str, int]) -> dict[str, int]:
        free: dict[str, int] = {}
        if self.sizes is not None:
            wanted = inspect.signature(self.sizes).parameters
            free = self.sizes(**{k: v for k, v in self.complete(inputs).items() if k in wanted})
        for name in chosen:
            if name not in free:
                raise self.error(f"sizes: {name} is not a free size of this op")
        return {name: int(extent) for name, extent in (free | dict(chosen)).items()}

    def _check_families(self, given: list[tuple[Argument, np.ndarray]]) -> None:
        first: dict[str, tuple[str, np.dtype]] = {}
        for argument, array in given:
            name, dtype = first.setdefault(argument.family, (argument.name, array.dtype))
            if array.dtype != dtype:
                raise self.error(f"{argument.name}: dtype {array.dtype.name}, but {name} is {dtype.name}")


def signature(model: Callable[..., None]) -> Signature:
    """Read a golden model's signature. Raises TypeError for one that declares something else than this vocabulary."""
    hints = typing.get_type_hints(model, include_extras=True)
    arguments, attributes = [], []
    for parameter in inspect.signature(model).parameters.values():
        hint = hints[parameter.name]
        if hint in (bool, int, float):
            attributes.append(Attribute(parameter.name, hint, parameter.default))
            continue
        optional = typing.get_origin(hint) in (typing.Union, UnionType)
        if optional:
            hint = next(part for part in typing.get_args(hint) if part is not NoneType)
        if typing.get_origin(hint) is not Annotated:
            raise TypeError(f"{model.__name__}: {parameter.name}: {hint} is neither an attribute nor In, Out or InOut")
        array, direction = typing.get_args(hint)
        if direction is Direction.OUT and parameter.kind is not parameter.KEYWORD_ONLY:
            raise TypeError(f"{model.__name__}: {parameter.name}: an output must be keyword-only")
        dtypes = tuple(str(name) for name in array.dtypes if name != "bool_")  # jaxtyping's second name of bool
        family = array.dtype.__name__
        dims = tuple(array.dim_str.split())
        arguments.append(Argument(parameter.name, direction, family, dtypes, dims, optional))
    module = inspect.getmodule(model)
    sizes, ulps = getattr(module, "sizes", None), getattr(module, "ULPS", {})
    vendors = getattr(module, "VENDORS", VENDORS)
    return Signature(model.__name__, model, tuple(arguments), tuple(attributes), sizes, ulps, vendors)


@cache
def ops() -> tuple[str, ...]:
    """Every op that has a golden model, by name. A folder beside them holds models of what is no op."""
    package = importlib.import_module(__package__)
    names = (module.name for module in pkgutil.iter_modules(package.__path__) if not module.ispkg)
    return tuple(sorted(n for n in names if n != "schema" and not n.startswith("_")))


@cache
def load(op: str) -> Signature:
    """The signature of an op. Raises UnknownOp, naming near misses."""
    if op not in ops():
        import difflib

        near = difflib.get_close_matches(op, ops(), 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(ops())}"
        raise UnknownOp(f"no op {op!r}{hint}")
    return signature(getattr(importlib.import_module(f"{__package__}.{op}"), op))


def as_dtype(name: str) -> np.dtype:
    """The NumPy dtype of a name, bfloat16 included."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def evaluate(dim: str, symbols: Mapping[str, int]) -> int | None:
    """Value of a symbolic extent such as `2*tokens` or `bsz+1`; None while one of its symbols is unbound."""

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            return _ARITHMETIC[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            return symbols[node.id]
        raise TypeError(f"{dim!r} is no extent: use names, integers, + - * //")

    try:
        return value(ast.parse(dim, mode="eval").body)
    except KeyError:
        return None


def names_in(dim: str) -> Iterator[str]:
    """The symbols of an extent."""
    return (node.id for node in ast.walk(ast.parse(dim, mode="eval")) if isinstance(node, ast.Name))
