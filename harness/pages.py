"""The pages of the documentation that follow from the code: ops and oracles."""

from __future__ import annotations

import inspect
from pathlib import Path

from opgold.harness import casefile, oracles
from opgold.reference import schema

GENERATED = "<!-- Written by `opgold docs`; edit the code that it names instead. -->\n"


def write(folder: Path) -> list[Path]:
    """Write every generated page into `folder`."""
    pages = {"ops.md": ops(), "oracles.md": oracle_table()}
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


def oracle_table() -> str:
    """Every oracle: what it asks, what it catches, whose fault it shows, and whether hostile inputs suspend it."""
    rows = ["| oracle | asks | catches | judges | on hostile inputs |", "|---|---|---|---|---|"]
    for name, module in oracles.ALL.items():
        judges = "golden model" if name in oracles.GOLDEN else "kernel" if name in oracles.KERNEL else "both"
        hostile = "yes" if name in (*oracles.HOSTILE, "refusal") else "no"
        rows.append(f"| {name} | {inspect.getdoc(module)} | {module.CATCHES} | {judges} | {hostile} |")
    return "\n".join(["# Oracles\n", GENERATED, *rows, ""])


def ops() -> str:
    """Every op: its contract, arguments and cases, from its signature and files."""
    parts = ["# Ops\n", GENERATED]
    for name in schema.ops():
        signature = schema.load(name)
        parts.append(f"## {name}\n\n{inspect.getdoc(signature.model)}\n")
        parts.append("| argument | direction | dtype | shape |\n|---|---|---|---|")
        for argument in signature.arguments:
            direction = argument.direction.value + (", optional" if argument.optional else "")
            dtypes = ", ".join(argument.dtypes)
            parts.append(f"| `{argument.name}` | {direction} | {dtypes} | `{argument.shape_text}` |")
        for attribute in signature.attributes:
            default = "" if attribute.required else f", default {attribute.default}"
            parts.append(f"| `{attribute.name}` | attribute{default} | {attribute.kind.__name__} | |")
        parts.append("\nCases:\n")
        parts += [
            f"* `{path.stem}`: {' '.join(casefile.read(path).why.split())}" for path in casefile.regressions(name)
        ]
        parts.append("")
    return "\n".join(parts)
