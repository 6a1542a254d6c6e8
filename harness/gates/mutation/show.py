"""How the outcome is shown: a table on a terminal, survivors as diffs, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opgold.harness.gates.gate_report import show_findings
from opgold.harness.gates.mutation.diff import unified
from opgold.harness.gates.mutation.equivalents import path_of
from opgold.harness.gates.mutation.score import WAYS, Outcome, Row, Survivor, Tally
from opgold.harness.report import print_whole
from opgold.kernels.mutants import Mutant

HEADERS = ("op", "on", "cases", "mutants", *WAYS, "survive", "equivalent", "score")


def show(
    console: Console, outcome: Outcome, fail_under: float, fail_under_golden: float, problems: Sequence[str]
) -> None:
    """Findings, the table, and survivors: these last but for the sums, so that they are at hand when a run ends."""
    show_findings(console, outcome.findings)
    table = Table(header_style="bold", box=None, pad_edge=False)
    for header in HEADERS:
        table.add_column(header, justify="left" if header in ("op", "on") else "right", no_wrap=True)
    for row in outcome.rows:
        table.add_row(*figures(row))
    print_whole(console, table)
    for survivor in outcome.survivors:
        console.print("\n" + "\n".join(lines_of(survivor)), highlight=False, markup=False, soft_wrap=True)
    console.print()
    for problem in problems:
        console.print(f"[bold red]{escape(problem)}[/]", highlight=False, soft_wrap=True)
    for words, golden, least in (("kernels", False, fail_under), ("golden models", True, fail_under_golden)):
        tally = outcome.total(golden=golden)
        if tally.mutants:
            colour = "green" if tally.percent >= least else "red"
            line = escape(summary(words, tally, least))
            console.print(f"[bold {colour}]{line}[/]", highlight=False, soft_wrap=True)
    if not outcome.rows:
        console.print("there is no mutant to judge", highlight=False)


def show_kept(console: Console, kept: Mapping[Path, Sequence[Mutant]], survivors: int) -> None:
    """The cases that a search has found, with how many survivors each of them catches."""
    for path, mutants in kept.items():
        console.print(f"{path}: catches {len(mutants)}", highlight=False, markup=False, soft_wrap=True)
    caught = len({mutant for mutants in kept.values() for mutant in mutants})
    console.print(f"searched: {len(kept)} cases catch {caught} of {survivors} survivors", highlight=False)


def figures(row: Row) -> tuple[str, ...]:
    tally = row.tally
    ways = [str(tally.ways[way]) for way in WAYS]
    counts = [str(tally.survivors), str(tally.equivalent), _percent(tally)]
    return (row.op, row.side, str(row.cases), str(tally.mutants), *ways, *counts)


def _percent(tally: Tally) -> str:
    return f"{int(tally.percent * 10) / 10} %"  # never rounded up to the threshold


def summary(words: str, tally: Tally, least: float) -> str:
    """ "kernels: 950 of 1000 mutants caught, 95.0 %; 3 known equivalents left out" """
    said = f"{words}: {tally.caught} of {tally.mutants - tally.equivalent} mutants caught, {_percent(tally)}"
    said += f", below {least:g} %" if tally.percent < least else ""
    return said + (f"; {tally.equivalent} known to be equivalent left out" if tally.equivalent else "")


def lines_of(survivor: Survivor) -> list[str]:
    """Where it is, what it is, what would tell it apart, and its diff."""
    mutant = survivor.mutant
    return [
        f"{path_of(mutant)}:{mutant.line}: {mutant.operator} survives on {survivor.side} ({', '.join(survivor.ops)})",
        f"  {_seen(survivor)}; to catch it: {mutant.hint}",
        *unified(mutant).splitlines()[2:],
    ]


def _seen(survivor: Survivor) -> str:
    if not survivor.reached:
        return "no case runs it"
    cases = f"{survivor.reached} case{'s run' if survivor.reached > 1 else ' runs'} it"
    return f"{cases}, and it makes a difference in {survivor.infected or 'none'}"


def as_json(outcome: Outcome, settings: dict[str, Any], code: int, problems: Sequence[str]) -> dict[str, Any]:
    """The whole outcome; mutants by what they are, and how each was caught."""
    totals = {"kernels": outcome.total(golden=False), "golden": outcome.total(golden=True)}
    return {
        **settings,
        "exit": code,
        "problems": list(problems),
        "findings": [finding.as_json() for finding in outcome.findings],
        **{name: _tally(tally) for name, tally in totals.items()},
        "rows": [{"op": r.op, "side": r.side, "cases": r.cases, **_tally(r.tally)} for r in outcome.rows],
        "survivors": [survivor_json(survivor) for survivor in outcome.survivors],
        "caught": [
            {**mutant_json(mutant), "by": verdict.caught, "case": verdict.case}
            for mutant, verdict in outcome.caught.items()
        ],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    counts = {"mutants": tally.mutants, "caught": tally.caught, "survivors": tally.survivors}
    return {**counts, "equivalent": tally.equivalent, "percent": round(tally.percent, 2), "ways": dict(tally.ways)}


def mutant_json(mutant: Mutant) -> dict[str, Any]:
    """What tells a mutant from all others."""
    place = {"file": path_of(mutant), "line": mutant.line, "column": mutant.column}
    return {**place, "before": mutant.before, "after": mutant.after, "operator": mutant.operator}


def key_of(record: dict[str, Any]) -> tuple[object, ...]:
    """The same of a record that may say more."""
    return tuple(record[name] for name in ("file", "line", "column", "before", "after", "operator"))


def survivor_json(survivor: Survivor) -> dict[str, Any]:
    seen = {"reached": survivor.reached, "infected": survivor.infected, "hint": survivor.mutant.hint}
    where = {"side": survivor.side, "ops": list(survivor.ops)}
    return {**mutant_json(survivor.mutant), **where, **seen, "diff": unified(survivor.mutant)}


def write_ops(document: dict[str, Any], folder: Path) -> None:
    """A file for each op that was judged: what `opgold case check` tells new cases by."""
    folder.mkdir(parents=True, exist_ok=True)
    for op in {row["op"] for row in document["rows"]}:
        survivors = [survivor for survivor in document["survivors"] if op in survivor["ops"]]
        write({"op": op, "survivors": survivors}, folder / f"{op}.json")


def write(document: dict[str, Any], file: Path) -> None:
    file.write_text(json.dumps(document, indent=2) + "\n")
