"""Counts of a run: each op in a process of its own, whose counts go to a folder of its own.

A kernel library adds its counts to files beside its compiler's notes, in the cache that all processes share. Here
GCOV_PREFIX sends them to a folder of this run, one an op, so that nobody else's counts come in, or go wrong, however
many run at once.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from opgold.harness import casefile, check
from opgold.harness.backends.base import Backend
from opgold.harness.check import OpResult
from opgold.harness.gates import tools
from opgold.harness.gates.device_lines import device_lines
from opgold.harness.gates.measure import Outcome, Request
from opgold.harness.session import Progress
from opgold.kernels.build import KERNELS, find_compiler

ROOT = KERNELS.parent  # what paths of reports are relative to
CHILD = "opgold.harness.gates.measure"


@dataclass(frozen=True)
class Counts:
    """One op on one backend: what came of its cases, and gcovr's tracefiles of device code and of the launcher."""

    backend: str
    result: OpResult
    device: Path
    launcher: Path


@dataclass(frozen=True)
class Counted:
    """A run: counts of each op on each backend that has it, and the counts of golden models."""

    counts: list[Counts]
    golden: list[Path]


def count(
    ops: Sequence[str],
    backends: Sequence[Backend],
    examples: int,
    seed: int,
    jobs: int,
    folder: Path,
    progress: Progress,
) -> Counted:
    """Run the regression cases of `ops` and `examples` generated ones on coverage builds, `jobs` ops at a time."""
    requests = []
    for op in ops:
        (folder / op).mkdir()
        names = [backend.name for backend in backends if backend.has(op)]
        golden, outcomes = (str(folder / op / name) for name in ("golden", "outcomes"))
        requests.append(Request(op, names, examples, seed, golden, outcomes))
    cases = {r.op: (examples + len(casefile.regressions(r.op))) * len(r.backends) for r in requests}
    progress.begin(sum(cases.values()))
    progress.doing(f"{len(ops)} ops, {jobs} at a time" if len(ops) > 1 else ", ".join(ops))

    def one(request: Request) -> list[Counts]:
        outcomes = _run(request, folder / request.op)
        counts = [_counts(outcome, folder / request.op) for outcome in outcomes]
        progress.advance(cases[request.op])
        return counts

    with ThreadPoolExecutor(jobs) as pool:
        counts = [entry for entries in pool.map(one, requests) for entry in entries]
    return Counted(counts, [Path(request.golden) for request in requests])


def _run(request: Request, folder: Path) -> list[Outcome]:
    """Run one op's cases in a child. Raises ProcessDied with what the child said last."""
    environment = os.environ | {"GCOV_PREFIX": str(folder / "counts")}
    environment.pop("GCOV_PREFIX_STRIP", None)
    done = subprocess.run(
        [sys.executable, "-m", CHILD, request.text],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise check.ProcessDied(f"the process that ran {request.op} died: {said[-1]}")
    outcomes: list[Outcome] = pickle.loads(Path(request.outcomes).read_bytes())
    return outcomes


def _counts(outcome: Outcome, folder: Path) -> Counts:
    """Read one backend's counts, and part device code from the launcher."""
    target = outcome.backend
    traces = [folder / f"{target}-{part}.json" for part in ("all", "device", "launcher")]
    notes = folder / target  # no kernel, if it did not compile: nothing is counted
    notes.mkdir()
    for note in outcome.notes:
        notes = folder / "counts" / str(note.parent).lstrip("/")
        notes.mkdir(parents=True, exist_ok=True)
        (notes / note.name).symlink_to(note)
    filters = ("--filter", f"{KERNELS}/(cuda|xpu)/", "--exclude-throw-branches")
    reader = ("--gcov-executable", tools.gcov_of(find_compiler(target)))
    # gcov writes its reports into the object directory: without it into the root, where others write, too
    tools.gcovr("--root", ROOT, *filters, *reader, "--gcov-object-directory", notes, "--json", traces[0], notes)
    _part(*traces)
    return Counts(target, outcome.result, *traces[1:])


def _part(whole: Path, device: Path, launcher: Path) -> None:
    """Write a trace's lines of device code to one trace, and those that a host runs to another."""
    record = json.loads(whole.read_text())
    for trace, wanted in ((device, True), (launcher, False)):
        files = []
        for file in record["files"]:
            of_device = _device_lines(ROOT / file["file"])
            lines = [_decided(line) for line in file["lines"] if (line["line_number"] in of_device) == wanted]
            functions = [entry for entry in file["functions"] if (entry["lineno"] in of_device) == wanted]
            if lines:
                files.append(file | {"lines": lines, "functions": functions})
        trace.write_text(json.dumps(record | {"files": files}))


def _decided(line: dict[str, Any]) -> dict[str, Any]:
    """A line without branches that decide nothing: alone in their block, the other side being an exception."""
    blocks = [branch.get("source_block_id") for branch in line["branches"]]
    return line | {
        "branches": [branch for branch, block in zip(line["branches"], blocks, strict=True) if blocks.count(block) > 1]
    }


@cache
def _device_lines(path: Path) -> set[int]:
    return device_lines(path.read_text())
