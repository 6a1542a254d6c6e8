"""What there is to know of an op: its contract, arguments, files and cases; and a case to start from."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import Phase, strategies as st
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opgold.cases.sample import Sample
from opgold.harness import casefile, sequences
from opgold.harness.case import Case, Expected
from opgold.harness.finding import Finding
from opgold.harness.locate import strategy
from opgold.harness.oracles import GOLDEN
from opgold.harness.paddle.form import form_of
from opgold.harness.runner import Golden, Trial, run_golden
from opgold.harness.search import generating
from opgold.kernels import build
from opgold.reference import schema


class _NoBackend:
    """Stands where a trial of the golden model alone names its backend."""

    name = "golden"


def golden_trial(case: Case, golden: Golden) -> Trial:
    """What oracles of golden models look at."""
    return Trial(case, golden, _NoBackend(), [])  # type: ignore[arg-type]


def overview() -> Table:
    """One line an op: its contract's first line, and how many regression cases are kept."""
    shown = Table(header_style="bold", box=None)
    shown.add_column("op", no_wrap=True)
    shown.add_column("cases", justify="right")
    shown.add_column("contract")
    for op in schema.ops():
        summary = (inspect.getdoc(schema.load(op).model) or "").partition("\n")[0]
        shown.add_row(op, str(len(casefile.regressions(op))), summary)
    for name, package in sequences.PACKAGES.items():
        shown.add_row(name, str(len(sequences.saved(name))), inspect.getdoc(package))
    return shown


def kept_sequences(console: Console, name: str) -> None:
    """The ops that sequences of a kind call, and the sequences that are kept."""
    package = sequences.PACKAGES[name]
    console.print(f"[bold]{name}[/]\n\n  {inspect.getdoc(package)}", highlight=False)
    for form, ops in package.OPS.items():
        console.print(f"\n[bold]{form}[/]\n  {', '.join(ops)}", highlight=False, soft_wrap=True)
    console.print("\n[bold]sequences[/]")
    kept = Table.grid(padding=(0, 2))
    for path in sequences.saved(name):
        kept.add_row(f"  {path.stem}", escape(_first_sentence(sequences.part(name, "scriptfile").read(path).why)))
    console.print(kept, highlight=False)


def page(console: Console, signature: schema.Signature) -> None:
    """Everything about one op."""
    console.print(f"[bold]{signature.op}[/]\n")
    contract = textwrap.indent(inspect.getdoc(signature.model) or "", "  ")
    console.print(contract, highlight=False, markup=False, soft_wrap=True)
    console.print()
    shown = Table(header_style="bold", box=None)
    for column in ("argument", "direction", "dtype", "shape"):
        shown.add_column(column)
    for argument in signature.arguments:
        direction = argument.direction.value + (", optional" if argument.optional else "")
        shown.add_row(argument.name, direction, " | ".join(argument.dtypes), escape(argument.shape_text))
    for attribute in signature.attributes:
        default = "" if attribute.required else f" = {attribute.default}"
        shown.add_row(attribute.name, "attribute", attribute.kind.__name__ + default, "")
    console.print(shown)
    op = signature.op
    console.print(f"\n[bold]call in FastDeploy[/]\n  {form_of(op)}\n", highlight=False, soft_wrap=True)
    kernels = [source for vendor in signature.vendors if (source := build.source_of(op, vendor)).exists()]
    files = [Path(inspect.getfile(signature.model)), *kernels, Path(inspect.getfile(strategy(op)))]
    console.print("[bold]files[/]")
    for path in files:
        console.print(f"  {path}", highlight=False, markup=False, soft_wrap=True)
    console.print("\n[bold]cases[/]")
    kept = Table.grid(padding=(0, 2))
    for path in casefile.regressions(op):
        kept.add_row(f"  {path.stem}", escape(_first_sentence(casefile.read(path).why)))
    console.print(kept, highlight=False)


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0]


def judge_case(case: Any) -> tuple[str, list[Finding]]:
    """What a case or sequence is, in words, and the golden model's findings on it."""
    if not isinstance(case, Case):
        played = sequences.part(sequences.name_of(case), "play").play(case)
        return f"{case.form} sequence of {len(case.steps)} steps, {played.rounds} rounds played", played.findings
    trial = golden_trial(case, run_golden(case))
    findings = [finding for oracle in GOLDEN.values() for finding in oracle.check(trial)]
    if case.refused is not None:
        kind = "hostile, refused as it says" if not findings else "hostile"
    else:
        literal = f"literal values of {', '.join(case.expect)}" if case.expect else "no literal values"
        kind = f"valid case of {case.op}, {literal}"
    if not case.why:
        kind += "; it does not say why it is kept"
    return kind, findings


def example(op: str) -> Case:
    """A small lawful case with some tokens in it, and what the golden model makes of it."""
    sample = _small(op)
    case = Case.of(op, sample)
    golden = run_golden(case)
    expect = {name: Expected(a) for name, a in golden.arrays.items() if golden.defined[name].all()}
    why = "Say what went wrong, with a link. The values under `expect` are the golden model's: work them out by hand."
    return replace(case, why=why, expect=expect)


def _small(op: str) -> Sample:
    """The simplest sample with at least two slots whose outputs are not all alike; else the simplest of all."""

    def telling(sample: Sample) -> bool:
        arrays = run_golden(Case.of(op, sample)).arrays.values()
        slots = [len(value) for value in sample.inputs.values() if isinstance(value, np.ndarray) and value.ndim]
        told = [array.size and (array.size == 1 or len(np.unique(array)) > 1) for array in arrays]
        return bool(slots) and min(slots) >= 2 and bool(told) and all(told)

    settings = generating(max_examples=200, derandomize=True, phases=(Phase.generate, Phase.shrink))
    samples: st.SearchStrategy[Sample] = strategy(op).samples()
    try:
        return hypothesis.find(samples, telling, settings=settings)
    except hypothesis.errors.NoSuchExample:
        return hypothesis.find(samples, lambda _: True, settings=settings)
