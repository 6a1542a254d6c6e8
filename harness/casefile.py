"""Cases as YAML files that a person can write and read. The format: docs/cases.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from opgold.cases import payload
from opgold.harness.case import Case, Expected
from opgold.reference.schema import Argument, Signature, as_dtype, load

INLINE = 256  # elements; a larger array goes to a file beside the case

KEYS = {"op", "why", "inputs", "sizes", "expect", "refused", "relations"}
FORMS = ("values", "fill", "count", "repeat", "random", "npz")


class CaseError(ValueError):
    """A case file that cannot be used. The message names file, key and what was expected."""


def read(path: Path) -> Case:
    """The case of a file. Raises CaseError."""
    return parse(document_of(path), path)


def document_of(path: Path) -> dict[str, Any]:
    """The mapping that a file holds. Raises CaseError."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise CaseError(f"{path}: expected a mapping with the keys {', '.join(sorted(KEYS))}")
    return document


def parse(document: Mapping[str, Any], path: Path) -> Case:
    """The case of a file's mapping. Raises CaseError."""
    try:
        return _case(document, path)
    except ValueError as error:
        raise CaseError(f"{path}: {error}") from error


def _case(document: Mapping[str, Any], path: Path) -> Case:
    unknown = set(document) - KEYS
    if unknown:
        raise ValueError(f"unknown key {', '.join(map(repr, sorted(unknown)))}; there are {', '.join(sorted(KEYS))}")
    for key in ("op", "inputs"):
        if key not in document:
            raise ValueError(f"key {key!r} is missing")
    if not isinstance(document["inputs"], dict):
        raise ValueError("inputs: expected a mapping of argument names")
    if ("expect" in document) and ("refused" in document):
        raise ValueError("expect and refused exclude each other")
    signature = load(document["op"])
    sizes = document.get("sizes", {})
    if not isinstance(sizes, dict) or not all(isinstance(size, int) for size in sizes.values()):
        raise ValueError(f"sizes: {sizes!r}, expected a mapping of names to integers")
    case = Case(
        signature.op,
        {name: _value(signature, name, given, path) for name, given in document["inputs"].items()},
        sizes,
        str(document.get("why", "")).strip(),
        {name: _expected(signature, name, given) for name, given in (document.get("expect") or {}).items()},
        document.get("refused"),
        bool(document.get("relations", True)),
        path,
    )
    if case.refused is None:
        _check_shapes(case)
    return case


def _check_shapes(case: Case) -> None:
    """An `expect` must fit the argument that it is about."""
    signature = case.signature
    symbols = signature.bind(case.inputs, case.sizes)
    shapes: dict[str, tuple[int, ...]] = dict(signature.shapes(symbols))
    shapes |= {name: value.shape for name, value in case.inputs.items() if isinstance(value, np.ndarray)}
    for name, expected in case.expect.items():
        shape = shapes.get(name)
        if shape is None:
            raise ValueError(f"expect.{name}: the argument is not given")
        if expected.at is None:
            if expected.values.shape != shape and not (expected.values.size == 0 and 0 in shape):
                raise ValueError(f"expect.{name}: shape {expected.values.shape}, expected {shape}")
            continue
        for index in expected.at:
            if len(index) != len(shape) or any(not 0 <= i < n for i, n in zip(index, shape, strict=False)):
                raise ValueError(f"expect.{name}: no element {index} in shape {shape}")


def _value(signature: Signature, name: str, given: Any, path: Path) -> Any:
    arguments = {argument.name: argument for argument in signature.inputs}
    if name not in arguments:
        return given  # an attribute; the signature checks it
    return None if given is None else _array(f"inputs.{name}", arguments[name], given, path)


def _array(key: str, argument: Argument, given: Any, path: Path | None) -> np.ndarray:
    form = dict(given) if isinstance(given, dict) else {"values": given}
    name = form.pop("dtype", argument.dtypes[0])
    if name not in argument.dtypes:
        raise ValueError(f"{key}: dtype {name}, expected {' or '.join(argument.dtypes)}")
    dtype = as_dtype(name)
    at = form.pop("at", {})
    shape = form.pop("shape", None)
    entry = form.pop("key", argument.name)
    if len(form) != 1 or next(iter(form)) not in FORMS:
        raise ValueError(f"{key}: expected a list, or a mapping with one of {', '.join(FORMS)}")
    kind, content = form.popitem()
    if (shape is None) != (kind in ("values", "npz")):
        raise ValueError(f"{key}: {kind} {'needs' if shape is None else 'takes no'} shape")
    try:
        array = _make(kind, content, shape, dtype, entry, path, len(argument.dims))
    except (TypeError, ValueError, OverflowError, KeyError, OSError) as error:
        raise ValueError(f"{key}: {error}") from error
    for index, value in _elements(key, at).items():
        try:
            array[index] = value
        except (IndexError, ValueError, OverflowError) as error:
            raise ValueError(f"{key}.at: {index}: {error}") from error
    return array


def _make(kind: str, content: Any, shape: Any, dtype: np.dtype, entry: str, path: Path | None, rank: int) -> np.ndarray:
    if kind == "values":
        array = exact(content, dtype)
        return array.reshape((0,) * rank) if array.size == 0 and array.ndim < rank else array
    if kind == "npz":
        assert path is not None
        with np.load(path.parent / content) as arrays:
            stored: np.ndarray = arrays[entry]
        return stored.view(dtype) if stored.dtype != dtype else stored
    return _generate(kind, content, (shape,) if isinstance(shape, int) else tuple(shape), dtype)


def _generate(kind: str, content: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if kind == "fill":
        return np.full(shape, exact(content, dtype), dtype)
    if kind == "count":
        return exact(np.arange(content, content + int(np.prod(shape))), dtype).reshape(shape)
    if kind == "repeat":
        return np.resize(exact(content, dtype), shape)
    rng = np.random.default_rng(content)
    if dtype.kind in "iu":
        return payload.token_ids(rng, *shape).astype(dtype)
    return payload.hidden(rng, dtype.name, *shape)


def exact(values: Any, dtype: np.dtype) -> np.ndarray:
    """`values` as an array of `dtype`. Raises ValueError for a value that the dtype does not hold."""
    source = np.asarray(values)
    if source.size == 0:
        return source.astype(dtype)
    if source.dtype == object or source.dtype.kind in "US":
        raise ValueError("expected numbers, rows of equal length")
    if dtype.kind == "b" and source.dtype.kind != "b":
        if not np.isin(source, (0, 1)).all():
            raise ValueError("expected booleans")
        return source.astype(bool)
    if dtype.kind in "iu" and source.dtype.kind not in "iub":
        raise ValueError("expected integers")
    array = source.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(array.astype(object), source.astype(object)):
        wrong = source[array.astype(object) != source.astype(object)].ravel()[0]
        raise ValueError(f"{wrong} does not fit {dtype.name}")
    return array


def _elements(key: str, at: Any) -> dict[tuple[int, ...], Any]:
    """{"3": v, "2, 0": w} as {(3,): v, (2, 0): w}."""
    if not isinstance(at, dict):
        raise ValueError(f"{key}.at: expected a mapping of indices to values")
    try:
        return {tuple(int(part) for part in str(index).split(",")): value for index, value in at.items()}
    except ValueError as error:
        raise ValueError(f'{key}.at: an index is "3" or "2, 0"') from error


def _expected(signature: Signature, name: str, given: Any) -> Expected:
    written = {argument.name: argument for argument in signature.written}
    if name not in written:
        raise ValueError(f"expect.{name}: not written by {signature.op}; it writes {', '.join(written)}")
    argument, key = written[name], f"expect.{name}"
    if isinstance(given, dict) and "at" in given and not set(given) & set(FORMS):
        elements = _elements(key, given["at"])
        dtype = as_dtype(given.get("dtype", argument.dtypes[0]))
        return Expected(exact(list(elements.values()), dtype), tuple(elements))
    return Expected(_array(key, argument, given, None))


def write(case: Case, path: Path) -> None:
    """Write a case so that `read` gives it back; arrays too large to read go to an .npz beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside: dict[str, np.ndarray] = {}
    inputs: dict[str, Any] = {}
    for name, value in case.inputs.items():
        if value is None:
            continue
        inputs[name] = value if not isinstance(value, np.ndarray) else _form(case, name, value, path, aside)
    document: dict[str, Any] = {"op": case.op, "why": case.why, "inputs": inputs}
    if case.sizes:
        document["sizes"] = dict(case.sizes)
    if case.refused is not None:
        document["refused"] = case.refused
    if case.expect:
        document["expect"] = {name: _expected_form(case, name, expected) for name, expected in case.expect.items()}
    if not case.relations:
        document["relations"] = False
    if aside:
        np.savez_compressed(path.with_suffix(".npz"), **aside)  # type: ignore[arg-type]
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    path.write_text(text, encoding="utf-8")


def _form(case: Case, name: str, array: np.ndarray, path: Path, aside: dict[str, np.ndarray]) -> Any:
    form: dict[str, Any] = {"dtype": array.dtype.name} if _in_family(case, name) else {}
    if array.size > INLINE or _holds_nan(array):
        portable = array.dtype.kind in "biuf" and array.dtype.isbuiltin == 1  # bfloat16 is not NumPy's own
        aside[name] = array if portable else array.view(f"u{array.itemsize}")
        return form | {"npz": path.with_suffix(".npz").name}
    if array.size == 0:
        return form | {"fill": 0, "shape": list(array.shape)}
    return _inline(case, name, array)


def _holds_nan(array: np.ndarray) -> bool:
    """Whether some element has bits that YAML cannot say."""
    return array.dtype.kind not in "iub" and bool(np.isnan(array.astype(np.float32)).any())


def _expected_form(case: Case, name: str, expected: Expected) -> Any:
    if expected.at is None:
        return _inline(case, name, expected.values)
    elements = {", ".join(map(str, index)): value for index, value in zip(expected.at, expected.values, strict=True)}
    form = {"dtype": expected.values.dtype.name} if _in_family(case, name) else {}
    plain = {index: v.item() if v.dtype.kind in "iub" else float(v) for index, v in elements.items()}
    return form | {"at": plain}


def _in_family(case: Case, name: str) -> bool:
    return len(case.signature.argument(name).dtypes) > 1


def _inline(case: Case, name: str, array: np.ndarray) -> Any:
    """Values in place; an array of a family says its dtype."""
    values = array.tolist() if array.dtype.kind in "iub" else array.astype(np.float64).tolist()
    return {"dtype": array.dtype.name, "values": values} if _in_family(case, name) else values


class _Dumper(yaml.SafeDumper):
    """Block mappings, rows of numbers in flow style, text as literal blocks."""


def _list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=True)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(list, _list)
_Dumper.add_representer(str, _text)


def regressions(op: str) -> list[Path]:
    """The case files kept for an op, by name."""
    import opgold.cases

    return sorted((Path(opgold.cases.__path__[0]) / "regressions" / op).glob("*.yaml"))
