"""Puts the code of a mutant into a golden model's function, in the place where all callers find it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from opgold.harness.gates.mutation.golden_mutants import Site


@contextmanager
def mutated(site: Site) -> Iterator[None]:
    """The function of a site runs with the mutant's code."""
    function = _function(site)
    original = function.__code__
    function.__code__ = _code(site)
    try:
        yield
    finally:
        function.__code__ = original


def _function(site: Site) -> FunctionType:
    owner: Any = importlib.import_module(f"opgold.reference.{site.mutant.file.stem}")
    *classes, name = site.function.split(".")
    for part in classes:
        owner = getattr(owner, part)
    found = vars(owner)[name]
    for attribute in ("__func__", "fget", "func", "__wrapped__"):  # methods, properties, what is cached
        found = getattr(found, attribute, found)
    assert isinstance(found, FunctionType), f"{site.function} is no function"
    return found


def _code(site: Site) -> CodeType:
    code = compile(site.changed, str(site.mutant.file), "exec", dont_inherit=True)
    for name in site.function.split("."):
        code = next(part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name)
    return code
