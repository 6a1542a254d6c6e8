"""The command line: `opgold check`, `record`, `list`, `show`, `bench` and others. Exit 0 clean, 1 findings, 2 usage."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from opgold import __version__
from opgold.harness import backends, casefile, ledger, sequences
from opgold.harness.backends.base import Backend, UnknownBackend
from opgold.harness.gates import commands
from opgold.harness.gates.mutation import command as mutation
from opgold.harness.gates.mutation.equivalents import EquivalentsError
from opgold.harness.gates.tools import Unmeasurable
from opgold.harness.locate import IncompleteOp
from opgold.harness.options import BackendName, BackendNames, Ops
from opgold.harness.record import command as recording
from opgold.harness.record.folder import Recorded, Unrecordable
from opgold.kernels.build import BuildError, MissingCompiler
from opgold.reference import schema

if TYPE_CHECKING:
    from opgold.harness import session

app = typer.Typer(
    help="Tests accelerator kernels of speculative decoding against NumPy golden models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cases_app = typer.Typer(help="Read, check and write case files.", no_args_is_help=True)
app.add_typer(cases_app, name="case")

FINDINGS, USAGE = 1, 2


class Unusable(Exception):
    """A request that cannot be met as it stands. The message says why and what to do."""


USER_ERRORS = (
    schema.UnknownOp,
    IncompleteOp,
    UnknownBackend,
    casefile.CaseError,
    ledger.LedgerError,
    MissingCompiler,
    BuildError,
    Unmeasurable,
    EquivalentsError,
    Unrecordable,
    Unusable,
)


def version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"opgold {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Tests accelerator kernels of speculative decoding against NumPy golden models."""


def usable(name: str) -> Backend:
    """The backend of that name. Raises Unusable with the reason when this machine cannot run it."""
    backend = backends.get(name)
    if reason := backend.unavailable():
        raise Unusable(f"backend {name} is not available here: {reason}")
    return backend


def named(ops: list[str] | None) -> list[str]:
    """The ops named, each once, or all."""
    for op in ops or ():
        schema.load(op)
    return list(dict.fromkeys(ops or schema.ops()))


def checked(ops: list[str] | None) -> list[str]:
    """The ops named, and the sequences if they are; or all of both."""
    if ops is None:
        return [*schema.ops(), *sequences.NAMES]
    only = [op for op in ops if op not in sequences.NAMES]
    return (named(only) if only else []) + [name for name in sequences.NAMES if name in ops]


def lacked(chosen: Sequence[str], targets: Sequence[Backend], *, asked: bool) -> list[str]:
    """The ops and kinds of sequences that none of the backends has. Raises Unusable if the user asked for them."""
    nowhere = [
        name
        for name in chosen
        if not any(
            target.has(op)
            for target in targets
            if target.sequences or name not in sequences.NAMES
            for op in sequences.ops(name)
        )
    ]
    if asked and nowhere:
        raise Unusable(f"backend {' and '.join(t.name for t in targets)} does not have {', '.join(nowhere)}")
    return nowhere


def held(recording: Recorded, ops: list[str] | None) -> list[str]:
    """The ops of a recording that are to be checked. Raises Unusable for one that it does not hold."""
    there = recording.ops
    if absent := [op for op in named(ops) if op not in there] if ops else []:
        raise Unusable(f"{recording.folder} holds no calls of {', '.join(absent)}; it has {', '.join(there)}")
    return named(ops) if ops else there


Checked = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[OP]...", help=f"Ops; {' and '.join(sequences.NAMES)} for sequences; all if none is named."
    ),
]


@app.command()
def check(
    ops: Checked = None,
    backend: BackendNames = None,
    examples: Annotated[int, typer.Option(min=0, help="Generated cases of each op.")] = 200,
    seed: Annotated[int, typer.Option(help="Which cases are generated.")] = 0,
    case: Annotated[list[Path] | None, typer.Option(help="Run only this case file; may be repeated.")] = None,
    recorded: Annotated[
        Path | None, typer.Option(help="Check the calls of this recording, and run them on the backends named.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the results to this file, too.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Ops that the emulator runs at a time.")] = os.cpu_count() or 1,
    known: Annotated[Path, typer.Option("--ledger", help="Known failures.", show_default=False)] = ledger.PATH,
) -> None:
    """Diff kernels against golden models, on regression cases and generated ones."""
    from opgold.harness import check as engine, report, session

    if case and ops:
        raise Unusable("--case runs the op that its file names; leave out the op")
    if recorded and case:
        raise Unusable("--recorded runs the cases of a recording; leave out --case")
    if json_file and not json_file.parent.is_dir():
        raise Unusable(f"--json {json_file}: there is no folder {json_file.parent}")
    expected = ledger.read(known)
    chosen = [] if case or recorded else checked(ops)
    for path in case or ():
        engine.read(path)
    names = [f"{backends.RECORDED}{recorded}", *(backend or ())] if recorded else backend or backends.DEFAULT
    targets = [usable(name) for name in dict.fromkeys(names)]
    lacked(chosen, targets, asked=bool(ops))
    player = targets[0] if recorded else None
    if isinstance(player, Recorded):
        from opgold.harness.record import check as replay

        runs = replay.check(player, held(player, ops), targets, expected)
    elif case:
        runs = session.check_files(case, targets, expected)
    else:
        with progress() as shown:
            try:
                runs = session.check_named(chosen, targets, examples, seed, jobs, shown, expected)
            except engine.ProcessDied as error:
                typer.echo(f"error: {error}", err=True)
                raise typer.Exit(FINDINGS) from error
    idle = any(run.idle for run in runs) or not any(run.executed for run in runs)
    problems = session.ledger_problems(expected, runs)
    code = FINDINGS if idle or problems or any(run.findings for run in runs) else 0
    report.show(Console(), runs, seed, problems)
    if isinstance(player, Recorded):
        typer.echo("\n".join(player.lines()))
    if json_file:
        json_file.write_text(json.dumps(report.as_json(runs, seed, code, problems), indent=2) + "\n")
    raise typer.Exit(code)


@contextmanager
def progress() -> Iterator[session.Progress]:
    """A bar on a terminal; elsewhere a line for what is over."""
    from opgold.harness import session

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        bar = shown.add_task("", total=None)
        yield session.Progress(
            begin=lambda total: shown.update(bar, total=total),
            doing=lambda what: shown.update(bar, description=what),
            advance=lambda cases: shown.advance(bar, cases),
            over=lambda what: None if console.is_terminal else typer.echo(what, err=True),
        )


@app.command("list")
def list_ops() -> None:
    """The ops, and what there is of each."""
    from opgold.harness import show

    Console().print(show.overview())


@app.command()
def show(op: Annotated[str, typer.Argument(help=f"An op, {' or '.join(sequences.NAMES)}.")]) -> None:
    """An op's contract, arguments, shapes, files and cases; or a kind of sequences."""
    from opgold.harness import show as pages

    if op in sequences.NAMES:
        pages.kept_sequences(Console(), op)
        return
    pages.page(Console(), schema.load(op))


@app.command()
def doctor() -> None:
    """Compilers, devices and backends, and why one is unavailable."""
    from opgold.harness import doctor as examination

    Console().print(examination.table())


@app.command()
def bench(
    ops: Ops = None,
    backend: BackendName = "cuda-emu",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file, too.")] = None,
) -> None:
    """Time kernels and golden models; prints ratios from one run, beside what each should reach.

    On xpu-emu: what a launch costs, and how much of a core's and of a cluster's memory each kernel uses.
    """
    from opgold.harness import bench as benchmark

    target = usable(backend)
    rows = benchmark.run(target.name, named(ops))
    if not rows:
        raise Unusable(f"there is no workload on {backend} for {', '.join(ops or ())}")
    benchmark.print_rows(rows)
    figures = [row.as_json() for row in rows]
    if backend == "xpu-emu":
        from opgold.harness.bench import xpu

        budgets = list(xpu.budgets(named(ops)))
        xpu.print_budgets(budgets)
        figures += [budget.as_json() for budget in budgets]
    if json_file:
        json_file.write_text(json.dumps(figures, indent=2) + "\n")


app.command(context_settings={"allow_interspersed_args": False})(recording.record)
app.command()(commands.cover)
app.command()(commands.gate)
app.command()(mutation.mutate)


@app.command()
def docs(folder: Annotated[Path, typer.Argument(help="Where the pages go.", exists=True, file_okay=False)]) -> None:
    """Write the documentation pages that follow from the code: ops and oracles."""
    from opgold.harness import pages

    for path in pages.write(folder):
        typer.echo(f"wrote {path}")


@cases_app.command("check")
def case_check(
    files: Annotated[list[Path], typer.Argument(help="Case files.")],
    mutants: Annotated[bool, typer.Option("--mutants", help="Say which mutants each can fail; runs kernels.")] = False,
) -> None:
    """Read case files, hold the golden model to them, and say which trivial kernels each can fail; runs no kernel."""
    from opgold.harness import check as engine, vacuity
    from opgold.harness.case import Case
    from opgold.harness.report import show_finding
    from opgold.harness.show import judge_case

    console, failed = Console(), False
    for path in files:
        case = engine.read(path)
        verdict, findings = judge_case(case)
        console.print(f"{path}: {verdict}", highlight=False, markup=False, soft_wrap=True)
        for finding in findings:
            show_finding(console, finding)
        failed = failed or bool(findings)
        if isinstance(case, Case) and not findings:
            power = vacuity.power(case)
            console.print(f"  {power}", highlight=False, markup=False, soft_wrap=True)
            failed = failed or power.vacuous
            if mutants:
                failed = mutation.show_power(console, case) or failed
    raise typer.Exit(FINDINGS if failed else 0)


@cases_app.command("new")
def case_new(
    op: Annotated[str, typer.Argument(help="An op.")],
    file: Annotated[Path | None, typer.Option("--out", help="Where to write it; OP.yaml if not given.")] = None,
) -> None:
    """Write a small valid case to edit."""
    from opgold.harness.show import example

    schema.load(op)
    path = file or Path(f"{op}.yaml")
    if path.exists():
        raise Unusable(f"{path} exists; name another file with --out")
    if not path.parent.is_dir():
        raise Unusable(f"there is no folder {path.parent}")
    casefile.write(example(op), path)
    typer.echo(f"wrote {path}; say in `why` what went wrong, then: opgold check --case {path}")


@cases_app.command("keep")
def case_keep(
    file: Annotated[Path, typer.Argument(help="A case file, of a recording or of a finding.")],
    out: Annotated[Path, typer.Option(help="Where to write it, such as cases/regressions/OP/SCENARIO.yaml.")],
) -> None:
    """Copy a case, with the arrays that lie beside it, to a name of its own."""
    case = casefile.read(file)
    if out.exists():
        raise Unusable(f"{out} exists; name another file with --out")
    if not out.parent.is_dir():
        raise Unusable(f"there is no folder {out.parent}")
    casefile.write(case, out)
    typer.echo(f"wrote {out}; say in `why` what went wrong, then: opgold case check {out}")


def main() -> None:
    """Entry point: a user's mistake is one line and exit 2, never a traceback."""
    try:
        app()
    except USER_ERRORS as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(USAGE)
