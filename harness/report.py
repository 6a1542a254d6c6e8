"""How results are shown: a table of ops by oracles, findings below, or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from opgold import __version__
from opgold.harness.check import OpResult
from opgold.harness.finding import Finding
from opgold.harness.oracles import ALL, GOLDEN
from opgold.harness.session import Checked

WIDEST = 400  # columns


def table(runs: Sequence[Checked], width: int) -> Table:
    """Ops by oracles, in each cell a mark for each backend; one for an oracle that judges the golden model.

    A mark is a dot where an oracle is content, else its number of findings, k where it has but known ones; blank where
    it does not look. Where `width` columns do not hold the oracles' names side by side, they stand upright.
    """
    ops = list(dict.fromkeys(result.op for run in runs for result in run.results))
    wide = 2 * len(runs) - 1
    needed = max((len(op) for op in ops), default=2) + 12 + sum(max(len(oracle), wide) + 2 for oracle in ALL)
    names = ", ".join(run.backend for run in runs)
    marks = " (marks in this order)" if len(runs) > 1 else ""
    shown = Table(title=f"opgold check on {names}{marks}", title_justify="left", header_style="bold", box=None)
    shown.padding = (0, 0, 0, 1)
    shown.pad_edge = False
    shown.add_column("op", no_wrap=True)
    shown.add_column("cases", justify="right", no_wrap=True)
    for oracle in ALL:
        shown.add_column(oracle if needed <= width else "\n".join(oracle), justify="center", no_wrap=True, min_width=1)
    for op in ops:
        sides = [run.of(op) for run in runs]
        counts = list(dict.fromkeys(side.executed for side in sides if side))
        cells = []
        for oracle in ALL:
            asked = [_told(sides, oracle)] if oracle in GOLDEN else sides
            cells.append(" ".join(_mark(side, oracle) for side in asked))
        shown.add_row(op, "/".join(map(str, counts)), *cells)
    return shown


def _told(sides: Sequence[OpResult | None], oracle: str) -> OpResult:
    """The side that tells what an oracle found on the golden model: it is said once."""
    present = [side for side in sides if side]
    return next((side for side in present if any(f.oracle == oracle for f in side.findings)), present[0])


def _mark(result: OpResult | None, oracle: str) -> str:
    if result is None:
        return "-"
    count = sum(finding.oracle == oracle for finding in result.findings)
    if count:
        return f"[bold red]{count}[/]"
    if any(known.finding.oracle == oracle for known in result.known):
        return "[yellow]k[/]"
    return "[green]·[/]" if result.executed and oracle in result.oracles else " "


def print_whole(console: Console, shown: Table) -> None:
    """Print a table of which nothing may be cut off, however narrow the console is."""
    whole = Measurement.get(console, console.options.update(width=WIDEST), shown).maximum
    width, console.width = console.width, max(console.width, whole)
    console.print(shown, highlight=False)
    console.width = width


def show(console: Console, runs: Sequence[Checked], seed: int, problems: Sequence[str] = ()) -> None:
    """The table, every finding, those that are known in a line each, what was executed, and the ledger's problems."""
    print_whole(console, table(runs, console.width))
    findings = [finding for run in runs for finding in run.findings]
    kinds: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.kind, []).append(finding)
    for alike in kinds.values():
        console.print()
        _show_kind(console, alike)
    console.print()
    known = [each for run in runs for each in run.known]
    for each in known:
        console.print(f"[yellow]{escape(str(each))}[/]", highlight=False, soft_wrap=True)
    for run in runs:
        regressions, generated, hostile = (
            sum(getattr(result, name) for result in run.results) for name in ("regressions", "generated", "hostile")
        )
        console.print(
            f"executed {regressions + generated} cases{f' on {run.backend}' if len(runs) > 1 else ''}: {regressions}"
            f" regression, {generated} generated ({hostile} of them hostile), seed {seed}",
            soft_wrap=True,
        )
        if run.missing:
            console.print(f"not checked on {run.backend}, which lacks them: {', '.join(run.missing)}", soft_wrap=True)
    for result in {result.op: result for run in reversed(runs) for result in run.results}.values():
        if result.accepted.slots:
            console.print(f"{result.op}: {result.accepted}", highlight=False, soft_wrap=True)
    idle = [run.backend for run in runs if run.idle] or ([] if any(run.executed for run in runs) else [runs[0].backend])
    if findings:
        console.print(f"[bold red]{_count(len(findings), 'finding')} of {_count(len(kinds), 'kind')}[/]")
    if idle:
        console.print(f"[bold red]no case was executed{' on ' + ', '.join(idle) if len(runs) > 1 else ''}[/]")
    for problem in problems:
        console.print(f"[bold red]{escape(problem)}[/]", highlight=False, soft_wrap=True)
    if not findings and not idle and not problems:
        console.print(f"[bold green]no {'new ' if known else ''}findings[/]")


def _show_kind(console: Console, alike: Sequence[Finding]) -> None:
    shown = alike[-1]  # a generated case, if there is one: shrunk, so the shortest to read
    compared = next((finding for finding in reversed(alike) if finding.sides), shown)
    show_finding(console, compared)
    others = dict.fromkeys(finding.case for finding in alike if finding is not compared)
    if others:
        console.print(f"  also in   {_some(list(others))}", highlight=False, soft_wrap=True)


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


def as_json(runs: Sequence[Checked], seed: int, code: int, problems: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "opgold": __version__,
        "seed": seed,
        "executed": sum(run.executed for run in runs),
        "exit": code,
        "ledger": list(problems),
        "backends": [run.as_json() for run in runs],
    }
