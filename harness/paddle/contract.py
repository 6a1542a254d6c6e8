"""Where a module's ops are known to differ from opgold's contract: a file a module, a reason for each difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from opgold.harness.backends.base import UnknownBackend
from opgold.harness.paddle import rules
from opgold.reference import schema
from opgold.reference.schema import Scalar

FOLDER = Path(__file__).parent / "contracts"
KINDS = ("version", "values", "up_to", "rule", "left_out")


class ContractFileError(UnknownBackend):
    """A file that cannot be used. The message names it, the entry, the key and the value."""


@dataclass(frozen=True)
class Difference:
    """One op's departure, one of: `version`, the module's function of the op's FastDeploy name is this op; `values`, of
    attributes that the module does not take; `up_to`, of each named output only so many first entries are specified as
    the last element of another argument says; `rule`, what is not compared, by the name of a rule; `left_out`, the op
    is another one."""

    op: str
    reason: str
    version: bool = False
    values: Mapping[str, Scalar] = field(default_factory=dict)
    up_to: Mapping[str, str] = field(default_factory=dict)
    rule: str | None = None
    left_out: bool = False


@dataclass(frozen=True)
class Contract:
    """The differences of a module."""

    module: str
    differences: tuple[Difference, ...] = ()

    def of(self, op: str) -> tuple[Difference, ...]:
        return tuple(difference for difference in self.differences if difference.op == op)


def read(path: Path) -> Contract:
    """The differences that a file says. Raises ContractFileError."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ContractFileError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ContractFileError(f"{path}: no YAML: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("module"), str):
        raise ContractFileError(f"{path}: module: is missing; it is the module's name")
    entries = document.get("differences") or []
    if unknown := sorted(map(str, set(document) - {"module", "differences"})):
        raise ContractFileError(f"{path}: {unknown[0]}: unknown key; there are module, differences")
    if not isinstance(entries, list):
        raise ContractFileError(f"{path}: differences: {entries!r}, expected a list")
    differences = []
    for number, entry in enumerate(entries, 1):
        try:
            differences.append(_difference(entry))
        except (schema.UnknownOp, ValueError) as error:
            raise ContractFileError(f"{path}: difference {number}: {error}") from error
    return Contract(document["module"], tuple(differences))


def _difference(entry: Any) -> Difference:
    if not isinstance(entry, dict) or not isinstance(entry.get("op"), str):
        raise ValueError("op: is missing")
    signature = schema.load(entry["op"])
    if not isinstance(entry.get("reason"), str) or not entry["reason"]:
        raise ValueError("reason: is missing")
    kinds = sorted(map(str, set(entry) - {"op", "reason"}))
    if len(kinds) != 1 or kinds[0] not in KINDS:
        raise ValueError(f"{', '.join(kinds) or 'nothing'}: expected one of {', '.join(KINDS)}")
    attributes = [attribute.name for attribute in signature.attributes]
    arguments = [argument.name for argument in signature.arguments]
    for key, known in (("values", attributes), ("up_to", arguments)):
        for name in entry.get(key, {}):
            if name not in known:
                raise ValueError(f"{key}: {name!r}: {signature.op} has {', '.join(known)}")
    for name in entry.get("up_to", {}).values():
        if name not in arguments:
            raise ValueError(f"up_to: {name!r}: {signature.op} has {', '.join(arguments)}")
    if "rule" in entry and entry["rule"] not in rules.RULES:
        raise ValueError(f"rule: {entry['rule']!r}: there are {', '.join(rules.RULES)}")
    return Difference(**entry)


@cache
def of(module: str, path: Path | None = None) -> Contract:
    """The differences of a module: those of `path`, or of the file here that names it. Raises ContractFileError."""
    if path is not None:
        return read(path)
    known = {contract.module: contract for contract in map(read, sorted(FOLDER.glob("*.yaml")))}
    return known.get(module, Contract(module))
