"""`opgold cover`: which lines and branches of kernels and golden models the cases run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opgold.harness import ledger
from opgold.harness.backends.base import Backend
from opgold.harness.check import OpResult
from opgold.harness.gates import cobertura, reports, tools
from opgold.harness.gates.cobertura import Lines, Tally
from opgold.harness.gates.counts import Counts, count
from opgold.harness.gates.measure import golden_models
from opgold.harness.session import Checked, Progress, together

GOLDEN = "golden"


@dataclass(frozen=True)
class Row:
    """An op on a backend, or its golden model: how many cases ran, and the lines of each file that its code has."""

    op: str
    side: str
    cases: int
    files: Mapping[Path, Lines]

    @property
    def tally(self) -> Tally:
        return Tally.of(self.files.values())


@dataclass(frozen=True)
class Coverage:
    """What a run covered: rows of ops, files over all ops, launchers apart; and what came of the cases."""

    rows: list[Row]
    files: dict[Path, Lines]
    launchers: dict[Path, Lines]
    runs: list[Checked]


@contextmanager
def measured(
    ops: Sequence[str],
    backends: Sequence[Backend],
    examples: int,
    seed: int,
    jobs: int,
    out: Path,
    progress: Progress | None = None,
) -> Iterator[tuple[Coverage, Path]]:
    """Run the cases of `ops` on coverage builds: what they cover, and a folder with the reports of this run, which go
    to `out` in the end.

    Raises Unmeasurable, and ProcessDied if a process that ran an op died.
    """
    tools.require()
    with reports.scratch(out) as folder:
        counted = count(ops, backends, examples, seed, jobs, folder, progress or Progress())
        written = reports.write(counted, folder)
        device, golden, launchers = (
            cobertura.read(written / name) for name in (reports.DEVICE, reports.GOLDEN, reports.LAUNCHERS)
        )
        rows = [_row(counts, folder) for counts in counted.counts]
        rows += [_golden_row(op, [c.result for c in counted.counts if c.result.op == op], golden) for op in ops]
        rows.sort(key=lambda row: (row.tally.order, row.op, row.side))
        files = device | {path: lines for path, lines in golden.items() if lines}
        yield Coverage(rows, files, launchers, _runs(counted.counts, backends)), written
        reports.publish(written, out)


def cover(
    ops: Sequence[str],
    backends: Sequence[Backend],
    examples: int,
    seed: int,
    jobs: int,
    out: Path,
    progress: Progress | None = None,
) -> Coverage:
    """What the cases of `ops` cover; the reports go to `out`. Raises as `measured` does."""
    with measured(ops, backends, examples, seed, jobs, out, progress) as (coverage, _):
        return coverage


def _runs(counts: Sequence[Counts], backends: Sequence[Backend]) -> list[Checked]:
    """What came of each backend."""
    runs = [Checked(backend.name, [c.result for c in counts if c.backend == backend.name]) for backend in backends]
    return together(runs, backends, ledger.read(ledger.PATH))


def _row(counts: Counts, folder: Path) -> Row:
    report = folder / f"{counts.result.op}-{counts.backend}.xml"
    reports.device_xml([counts.device], report)
    return Row(counts.result.op, counts.backend, counts.result.executed, cobertura.read(report))


def _golden_row(op: str, results: Sequence[OpResult], golden: Mapping[Path, Lines]) -> Row:
    model = golden_models() / f"{op}.py"
    cases = max((result.executed for result in results), default=0)
    return Row(op, GOLDEN, cases, {model: golden.get(model, {})})
