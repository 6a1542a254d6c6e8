"""How results are shown: a table of ops by oracles, findings below, or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opgold import __version__
from opgold.harness.check import OpResult
from opgold.harness.finding import Finding
from opgold.harness.oracles import ALL


def table(results: Sequence[OpResult], backend: str, width: int) -> Table:
    """Ops by oracles: a dot where an oracle is content, else its number of findings; blank where it does not look.

    Where `width` columns do not hold the oracles' names side by side, they stand upright.
    """
    needed = max((len(result.op) for result in results), default=2) + 12 + sum(len(oracle) + 2 for oracle in ALL)
    shown = Table(title=f"opgold check on {backend}", title_justify="left", header_style="bold", box=None)
    shown.padding = (0, 0, 0, 1)
    shown.pad_edge = False
    shown.add_column("op", no_wrap=True)
    shown.add_column("cases", justify="right", no_wrap=True)
    for oracle in ALL:
        shown.add_column(oracle if needed <= width else "\n".join(oracle), justify="center", no_wrap=True, min_width=1)
    for result in results:
        cells = []
        for oracle in ALL:
            count = sum(finding.oracle == oracle for finding in result.findings)
            looked = result.executed and oracle in result.oracles
            cells.append(f"[bold red]{count}[/]" if count else "[green]·[/]" if looked else " ")
        shown.add_row(result.op, str(result.executed), *cells)
    return shown


def show(console: Console, results: Sequence[OpResult], backend: str, seed: int) -> None:
    """The table, what was executed, and every finding."""
    console.print(table(results, backend, console.width))
    findings = [finding for result in results for finding in result.findings]
    regressions = sum(result.regressions for result in results)
    generated = sum(result.generated for result in results)
    hostile = sum(result.hostile for result in results)
    kinds: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.kind, []).append(finding)
    for alike in kinds.values():
        console.print()
        show_finding(console, alike[-1])  # a generated case, if there is one: shrunk, so the shortest to read
        others = dict.fromkeys(finding.case for finding in alike[:-1])
        if others:
            console.print(f"  also in   {_some(list(others))}", highlight=False, soft_wrap=True)
    console.print()
    console.print(
        f"executed {regressions + generated} cases: {regressions} regression, {generated} generated"
        f" ({hostile} of them hostile), seed {seed}"
    )
    if findings:
        console.print(f"[bold red]{_count(len(findings), 'finding')} of {_count(len(kinds), 'kind')}[/]")
    elif regressions + generated == 0:
        console.print("[bold red]no case was executed[/]")
    else:
        console.print("[bold green]no findings[/]")


def _some(names: list[str], most: int = 5) -> str:
    """The first of `names`, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {_count(len(names) - most, 'more case')}" if len(names) > most else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def show_finding(console: Console, finding: Finding) -> None:
    title, *rest = finding.lines()
    console.print(f"[bold red]{escape(title)}[/]", highlight=False)
    for line in rest:
        console.print(escape(line), highlight=False, soft_wrap=True)


def as_json(results: Sequence[OpResult], backend: str, seed: int, code: int) -> dict[str, Any]:
    return {
        "opgold": __version__,
        "backend": backend,
        "seed": seed,
        "executed": sum(result.executed for result in results),
        "exit": code,
        "ops": [result.as_json() for result in results],
    }
