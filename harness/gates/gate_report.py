"""How a gate's verdict is shown: lines on a terminal, JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.markup import escape

from opgold.harness.finding import Finding
from opgold.harness.gates.gate import BELOW, ChangedFile, Verdict
from opgold.harness.report import show_finding


def show(console: Console, verdict: Verdict) -> None:
    """Findings, each uncovered changed line with its file, and the verdict."""
    show_findings(console, verdict.findings)
    for line in (*uncovered(verdict.files), *notes(verdict)):
        console.print(escape(line), highlight=False, soft_wrap=True)
    colour = "red" if verdict.code else "green"
    console.print(f"[bold {colour}]{escape(summary(verdict))}[/]", highlight=False, soft_wrap=True)


def show_findings(console: Console, findings: Sequence[Finding]) -> None:
    """One finding of each kind; the last, which a generated case shows shrunk."""
    for finding in {finding.kind: finding for finding in findings}.values():
        show_finding(console, finding)
        console.print()


def uncovered(files: Sequence[ChangedFile]) -> list[str]:
    """ "kernels/cuda/x.cu:12: never ran" """
    return [f"{file.path}:{number}: {line.words}" for file in files for number, line in file.uncovered.items()]


def notes(verdict: Verdict) -> list[str]:
    """What the count leaves out."""
    said = [f"{line} (launcher, not counted)" for line in uncovered(verdict.launchers)]
    said += [f"{path}: no op includes it" for path in verdict.unused]
    return said + [f"{op}: no case was executed" for op in verdict.idle]


def summary(verdict: Verdict) -> str:
    """What was run, and how much of the change that ran."""
    if not verdict.ops:
        return f"the change since {verdict.base} concerns no op"
    cases = sum(run.executed for run in verdict.runs)
    ran = f"{len(verdict.ops)} op{'s' if len(verdict.ops) > 1 else ''}, {cases} cases"
    if verdict.findings:
        return f"{ran}: {len(verdict.findings)} finding{'s' if len(verdict.findings) > 1 else ''}"
    if not verdict.lines:
        return f"{ran}: the change since {verdict.base} has no line of device code or golden models"
    percent = int(verdict.percent * 10) / 10  # never rounded up to the threshold
    below = f", below {verdict.fail_under:g} %" if verdict.code == BELOW else ""
    return f"{ran}: {verdict.covered} of {verdict.lines} changed lines covered, {percent} %{below}"


def junit(verdict: Verdict, path: Path) -> None:
    """Two suites: the cases of each op on each backend, and the coverage of each changed file."""
    root = ElementTree.Element("testsuites", name="opgold gate")
    cases = ElementTree.SubElement(root, "testsuite", name="cases")
    for run in verdict.runs:
        for result in run.results:
            idle = [] if result.executed else ["no case was executed"]
            _test(cases, run.backend, result.op, [*map(str, result.findings), *idle])
    coverage = ElementTree.SubElement(root, "testsuite", name="coverage")
    for file in verdict.files:
        _test(coverage, "changed lines", file.path, uncovered([file]) if verdict.code == BELOW else [])
    for suite in root:
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _test(suite: ElementTree.Element, classname: str, name: str, failures: Sequence[str]) -> None:
    test = ElementTree.SubElement(suite, "testcase", classname=classname, name=name)
    if failures:
        failure = ElementTree.SubElement(test, "failure", message=failures[0].splitlines()[0])
        failure.text = "\n".join(failures)
