"""The command `opgold mutate`."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from opgold.harness import backends
from opgold.harness.case import Case
from opgold.harness.options import Examples, Jobs, Ops, Out, Seed

REPORTS = Path(".opgold") / "mutation"
JOBS = os.cpu_count() or 1
INTERRUPTED = 130
GOLDEN = "golden"
SIDES = (*backends.DEFAULT, GOLDEN)


def mutate(
    ops: Ops = None,
    changed: Annotated[str | None, typer.Option(metavar="REV", help="Only mutants on lines changed since.")] = None,
    backend: Annotated[
        list[str] | None,
        typer.Option("--backend", help=f"Whose mutants; may be repeated. {', '.join(SIDES)} if not given."),
    ] = None,
    examples: Examples = 25,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    out: Out = REPORTS,
    fail_under: Annotated[float, typer.Option(min=0, max=100, help="Per cent of kernels' mutants to catch.")] = 95,
    fail_under_golden: Annotated[
        float, typer.Option(min=0, max=100, help="Per cent of golden models' mutants to catch.")
    ] = 90,
    known: Annotated[
        Path | None, typer.Option("--equivalents", help="Mutants known to be equivalent.", show_default=False)
    ] = None,
    search: Annotated[
        int, typer.Option(min=0, help="Look among so many more cases an op for such as catch what survived.")
    ] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the outcome to this file, too.")] = None,
) -> None:
    """Do the cases catch faulty variants of kernels and golden models? Exit 9 below the score, 1 with findings."""
    from opgold.harness import cli
    from opgold.harness.gates import commands
    from opgold.harness.gates.mutation import equivalents, further, kernels, mutate as engine, score, show

    commands.writable(json=json_file)
    names = list(dict.fromkeys(backend or SIDES))
    targets = commands.emulated([name for name in names if name != GOLDEN]) if names != [GOLDEN] else []
    chosen = cli.named(ops)
    if GOLDEN not in names:
        cli.lacked(chosen, targets, asked=bool(ops))
    entries = equivalents.read(known or equivalents.PATH)
    lines = engine.changed_lines(changed) if changed else None
    tasks = engine.tasks_of(chosen, targets, GOLDEN in names, examples, seed, lines)
    for task in [task for task in tasks if task.side != GOLDEN][:1]:
        kernels.listed(task.op, task.side)  # raises here what each process would say
    outcome = score.Outcome(complete=not ops and not changed)
    interrupted = False
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what is known by then is kept
    with commands.deaths(), cli.progress() as progress:
        try:
            engine.mutate(tasks, jobs, outcome, entries, progress)
        except KeyboardInterrupt:
            interrupted = True
    mutants = {mutant for listed in outcome.mutants.values() for mutant in listed}
    problems = entries.problems(mutants, outcome.caught, partial=bool(changed) or interrupted)
    code = INTERRUPTED if interrupted else outcome.code(fail_under, fail_under_golden, problems)
    show.show(Console(), outcome, fail_under, fail_under_golden, problems)
    settings = {"examples": examples, "seed": seed, "changed": changed, "ops": chosen, "interrupted": interrupted}
    document = show.as_json(outcome, settings, code, problems)
    if not changed and not interrupted:
        show.write_ops(document, out)
    if json_file:
        show.write(document, json_file)
    if search and not interrupted:
        searched = score.Outcome()
        with commands.deaths(), cli.progress() as progress:
            engine.mutate(further.tasks_of(outcome, search, seed), jobs, searched, equivalents.EMPTY, progress)
        kept = further.keep(searched.caught.values(), out / "found")
        show.show_kept(Console(), kept, len(outcome.survivors))
    raise typer.Exit(code)


def show_power(console: Console, case: Case) -> bool:
    """Say which mutants a case can fail; those that survived the last run as diffs. Returns whether it fails nothing,
    or has a finding on the unmutated op."""
    from opgold.harness.gates import commands, gate_report
    from opgold.harness.gates.mutation import diff, one_case

    with commands.deaths():
        power = one_case.mutant_power(case, JOBS, REPORTS)
    gate_report.show_findings(console, power.findings)
    console.print(f"  {power}", highlight=False, markup=False, soft_wrap=True)
    for mutant in power.fresh:
        console.print(diff.unified(mutant), highlight=False, markup=False, soft_wrap=True, end="")
    return bool(power.findings) or power.vacuous
