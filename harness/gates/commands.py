"""The commands `opgold cover` and `opgold gate`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from opgold.harness import backends
from opgold.harness.backends.base import Backend
from opgold.harness.options import BackendNames, Examples, Jobs, Ops, Out, Seed

REPORTS = Path(".opgold") / "coverage"
JOBS = os.cpu_count() or 1


def cover(
    ops: Ops = None,
    backend: BackendNames = None,
    examples: Examples = 50,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    out: Out = REPORTS,
    page: Annotated[Path | None, typer.Option(help="Write the tables to this Markdown page, too.")] = None,
) -> None:
    """Line and branch coverage of kernels and golden models by the cases: tables, HTML, Cobertura XML."""
    from opgold.harness import cli
    from opgold.harness.gates import cover as engine, coverage_tables, gate_report

    writable(page=page)
    targets = emulated(backend)
    chosen = cli.named(ops)
    nowhere = cli.lacked(chosen, targets, asked=bool(ops))
    with deaths(), cli.progress() as progress:
        ran = [op for op in chosen if op not in nowhere]
        coverage = engine.cover(ran, targets, examples, seed, jobs, out, progress)
    console = Console()
    coverage_tables.show(console, coverage, out)
    if page:
        page.write_text(coverage_tables.page(coverage, examples), encoding="utf-8")
        console.print(f"wrote {page}", highlight=False, soft_wrap=True)
    findings = [finding for run in coverage.runs for finding in run.findings]
    gate_report.show_findings(console, findings)
    idle = not all(row.cases for row in coverage.rows)
    raise typer.Exit(cli.FINDINGS if findings or idle else 0)


def gate(
    base: Annotated[str, typer.Option(help="Revision since which the change is held to its coverage.")],
    fail_under: Annotated[float, typer.Option(min=0, max=100, help="Per cent of changed lines to be covered.")] = 80,
    backend: BackendNames = None,
    examples: Examples = 50,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    out: Out = REPORTS,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file, too.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the verdict to this file, too.")] = None,
) -> None:
    """Refuse a change whose lines the cases do not run: exit 9 below the threshold, 1 with findings."""
    from opgold.harness import cli
    from opgold.harness.gates import gate as engine, gate_report

    writable(junit=junit, json=json_file)
    targets = emulated(backend)
    with deaths(), cli.progress() as progress:
        verdict = engine.gate(base, fail_under, targets, examples, seed, jobs, out, progress)
    gate_report.show(Console(), verdict)
    if junit:
        gate_report.junit(verdict, junit)
    if json_file:
        json_file.write_text(json.dumps(verdict.as_json(), indent=2) + "\n")
    raise typer.Exit(verdict.code)


def emulated(names: list[str] | None) -> list[Backend]:
    """The backends of these names. Raises Unusable for one that cannot count."""
    from opgold.harness import cli

    targets = [cli.usable(name) for name in dict.fromkeys(names or backends.DEFAULT)]
    for target in targets:
        if target.name not in backends.DEFAULT:
            raise cli.Unusable(f"backend {target.name} does not count lines; {' and '.join(backends.DEFAULT)} do")
    return targets


def writable(**files: Path | None) -> None:
    """Raises Unusable for a file whose folder is not there: before cases are run, not after."""
    from opgold.harness import cli

    for option, file in files.items():
        if file and not file.parent.is_dir():
            raise cli.Unusable(f"--{option} {file}: there is no folder {file.parent}")


@contextmanager
def deaths() -> Iterator[None]:
    """A process that ran an op and died is one line, and a finding."""
    from opgold.harness import check, cli

    try:
        yield
    except check.ProcessDied as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(cli.FINDINGS) from error
