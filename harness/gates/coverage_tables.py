"""How coverage is shown: tables on a terminal, and a page of the documentation. What is uncovered stands first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from opgold.harness.gates.cobertura import Lines, Tally, gaps, percent
from opgold.harness.gates.counts import ROOT
from opgold.harness.gates.cover import Coverage, Row

HEADERS = ("lines", "branches", "not run, or not every way")
OPS = ("op", "on", "cases", *HEADERS)
FILES = ("file", *HEADERS)


def show(console: Console, coverage: Coverage, out: Path) -> None:
    """Both tables, the sums, and where the reports lie."""
    for title, headers, rows in (
        ("Ops, by what their own cases run", OPS, op_rows(coverage)),
        ("Files, by what all these cases run", FILES, file_rows(coverage)),
    ):
        table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
        for header in headers:
            right = header in ("cases", "lines", "branches")
            table.add_column(header, justify="right" if right else "left", no_wrap=header != HEADERS[-1])
        for row in rows:
            table.add_row(*row)
        console.print(table, highlight=False, markup=False)
        console.print()
    for line in totals(coverage):
        console.print(line, highlight=False, soft_wrap=True)
    console.print(
        f"reports  {out}/device/index.html, {out}/golden/index.html; {out}/device.xml, golden.xml, launchers.xml",
        highlight=False,
        soft_wrap=True,
    )


def op_rows(coverage: Coverage) -> list[tuple[str, ...]]:
    """One row for each op on each backend, and for its golden model."""
    return [(row.op, row.side, str(row.cases), *_figures(row.tally), _gaps(row)) for row in coverage.rows]


def file_rows(coverage: Coverage) -> list[tuple[str, ...]]:
    """One row for each file."""
    files = sorted(coverage.files.items(), key=lambda entry: (Tally.of([entry[1]]).order, entry[0]))
    return [(name_of(path), *_figures(Tally.of([lines])), gaps(lines)) for path, lines in files]


def totals(coverage: Coverage) -> list[str]:
    """Sums for golden models, each vendor's device code, and launchers."""
    said = []
    for folder, words in (("reference", "golden models"), ("kernels/cuda", "CUDA"), ("kernels/xpu", "XPU")):
        chosen = {path: lines for path, lines in coverage.files.items() if path.is_relative_to(ROOT / folder)}
        if chosen:
            said.append(_total(words, chosen))
    if coverage.launchers:
        said.append(_total("launchers in .cu and .cuh, which no figure above counts", coverage.launchers))
    return said


def page(coverage: Coverage, examples: int) -> str:
    """The page as Markdown."""
    parts = [
        "# Coverage\n",
        "<!-- Written by `opgold cover --page docs/coverage.md`. -->\n",
        "What the cases run of golden models and, on the emulators, of device code: regression cases, and "
        f"{examples} generated ones of each op. What is uncovered stands first. [gate.md](gate.md) says what counts.\n",
        *(f"* {line}" for line in totals(coverage)),
        "\n## Ops\n",
        "By what an op's own cases run of its kernel, with all headers, or of its golden model.\n",
        _markdown(OPS, op_rows(coverage)),
        "\n## Files\n",
        "By what the cases of all ops run.\n",
        _markdown(FILES, file_rows(coverage)),
        "",
    ]
    return "\n".join(parts)


def name_of(path: Path) -> str:
    """A file as reports name it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _figures(tally: Tally) -> tuple[str, str]:
    return percent(tally.ran, tally.lines), percent(tally.taken, tally.branches)


def _gaps(row: Row) -> str:
    found = {path: gaps(lines) for path, lines in row.files.items()}
    return "; ".join(f"{path.name}: {gap}" for path, gap in sorted(found.items()) if gap)


def _total(words: str, files: Mapping[Path, Lines]) -> str:
    tally = Tally.of(files.values())
    lines, branches = _figures(tally)
    return f"{words}: {lines} of {tally.lines} lines, {branches} of {tally.branches} branches"


def _markdown(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (headers, ("---",) * len(headers), *rows))
