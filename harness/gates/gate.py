"""`opgold gate`: a change must be run by the cases, in kernels as in golden models."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opgold.harness.backends.base import Backend
from opgold.harness.finding import Finding
from opgold.harness.gates import change as changes, cobertura, cover, reports, tools
from opgold.harness.gates.change import Change
from opgold.harness.gates.cobertura import Line
from opgold.harness.gates.counts import ROOT
from opgold.harness.session import Checked, Progress
from opgold.kernels.sources import KERNELS
from opgold.reference import schema

FINDINGS, BELOW = 1, 9  # exit codes; FastDeploy's coverage gate ends with 9, too


@dataclass(frozen=True)
class ChangedFile:
    """How many changed lines of a file the cases can run, and those that they do not, with what is missing."""

    path: str
    lines: int
    uncovered: dict[int, Line]

    def as_json(self) -> dict[str, Any]:
        missing = [{"line": number, "missing": line.words} for number, line in self.uncovered.items()]
        return {"path": self.path, "lines": self.lines, "uncovered": missing}


@dataclass(frozen=True)
class Verdict:
    """What a gate found: changed files, changed launchers beside the count, headers that no op includes."""

    base: str
    fail_under: float
    ops: list[str]
    files: list[ChangedFile]
    launchers: list[ChangedFile]
    unused: list[str]
    runs: list[Checked]

    @property
    def lines(self) -> int:
        return sum(file.lines for file in self.files)

    @property
    def covered(self) -> int:
        return self.lines - sum(len(file.uncovered) for file in self.files)

    @property
    def percent(self) -> float:
        """Of the changed lines that can run, how many do; all of none."""
        return 100 * self.covered / self.lines if self.lines else 100.0

    @property
    def findings(self) -> list[Finding]:
        return [finding for run in self.runs for finding in run.findings]

    @property
    def idle(self) -> list[str]:
        """Ops of which no case ran anywhere."""
        return [op for op in self.ops if not any((r := run.of(op)) and r.executed for run in self.runs)]

    @property
    def code(self) -> int:
        """The exit code. Cases with findings come before coverage, which then says little."""
        if self.findings or self.idle:
            return FINDINGS
        return BELOW if self.percent < self.fail_under else 0

    def as_json(self) -> dict[str, Any]:
        return {
            "base": self.base,
            "fail_under": self.fail_under,
            "percent": round(self.percent, 2),
            "lines": self.lines,
            "covered": self.covered,
            "exit": self.code,
            "ops": self.ops,
            "files": [file.as_json() for file in self.files],
            "launchers": [file.as_json() for file in self.launchers],
            "unused": self.unused,
            "backends": [run.as_json() for run in self.runs],
        }


def gate(
    base: str,
    fail_under: float,
    backends: Sequence[Backend],
    examples: int,
    seed: int,
    jobs: int,
    out: Path,
    progress: Progress | None = None,
) -> Verdict:
    """Run the cases of the ops that the change since `base` concerns, and hold the changed lines to their coverage.

    Raises Unmeasurable, and ProcessDied if a process that ran an op died.
    """
    tools.require()
    change = changes.since(base)
    present = [op for op in schema.ops() if any(backend.has(op) for backend in backends)]
    ops = changes.concerned(change.files, present)
    unused = _unused(change, present)
    if not ops:
        return Verdict(base, fail_under, [], [], [], unused, [])
    with cover.measured(ops, backends, examples, seed, jobs, out, progress) as (covered, written):
        files = _held(change, [written / reports.DEVICE, written / reports.GOLDEN], "--branch-coverage")
        launchers = _held(change, [written / reports.LAUNCHERS])
    return Verdict(base, fail_under, ops, files, launchers, unused, covered.runs)


def _held(change: Change, coverage: Sequence[Path], *options: str) -> list[ChangedFile]:
    """diff-cover's word on the changed lines of each file."""
    folder = coverage[0].parents[1]
    diff, verdict = folder / "change.diff", folder / "diff-cover.json"
    diff.write_text(change.diff)
    command: list[str | Path] = [sys.executable, "-m", "diff_cover.diff_cover_tool", *coverage, *options]
    command += ["--diff-file", diff, "--format", f"json:{verdict}", "--quiet"]
    tools.run(command, cwd=change.root)
    lines = {path: known for report in coverage for path, known in cobertura.read(report).items()}
    files = []
    for name, said in sorted(json.loads(verdict.read_text())["src_stats"].items()):
        missing = sorted(said["violation_lines"])
        count = len(missing) + len(said["covered_lines"])
        if count:
            known = lines[(change.root / name).resolve()]
            files.append(ChangedFile(name, count, {number: known[number] for number in missing}))
    return files


def _unused(change: Change, ops: Sequence[str]) -> list[str]:
    """Changed files of kernels that no op includes: no case can run them."""
    made_of = set().union(*(changes.parts(op) for op in ops)) if ops else set()
    folders = [KERNELS / vendor for vendor in schema.VENDORS]
    kernels = [file for file in change.files if file.exists() and any(map(file.is_relative_to, folders))]
    return [str(file.relative_to(ROOT)) for file in kernels if file not in made_of]
