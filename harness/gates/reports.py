"""Reports of a run's counts: Cobertura XML and HTML, put into a folder that several runs may write to."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

from opgold.harness.gates import tools
from opgold.harness.gates.counts import ROOT, Counted
from opgold.harness.gates.measure import golden_models

DEVICE, LAUNCHERS, GOLDEN = "device.xml", "launchers.xml", "golden.xml"


@contextmanager
def scratch(out: Path) -> Iterator[Path]:
    """A folder of this run alone, inside `out`; removed in the end. Raises Unmeasurable if `out` cannot be one."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".run-", dir=out.resolve()))
    except OSError as error:
        raise tools.Unmeasurable(f"--out {out}: {error.strerror}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def device_xml(traces: Sequence[Path], report: Path) -> None:
    """A Cobertura report of several traces."""
    tools.gcovr(*_merged(traces), "--cobertura", report)


def write(counted: Counted, folder: Path) -> Path:
    """Every report of a run: `device.xml` with `device/`, `golden.xml` with `golden/`, `launchers.xml`."""
    reports = folder / "reports"
    (reports / "device").mkdir(parents=True)
    device = [counts.device for counts in counted.counts]
    title = ("--html-title", "Kernels, on the emulators")
    tools.gcovr(
        *(*_merged(device), "--cobertura", reports / DEVICE, *title),
        *("--html-details", reports / "device" / "index.html"),
    )
    device_xml([counts.launcher for counts in counted.counts], reports / LAUNCHERS)
    _golden(counted.golden, reports, folder)
    return reports


def _merged(traces: Sequence[Path]) -> list[str | Path]:
    return ["--root", ROOT, "--merge-lines", *(part for trace in traces for part in ("-a", trace))]


def _golden(data: Sequence[Path], reports: Path, folder: Path) -> None:
    import coverage

    counter = coverage.Coverage(
        data_file=str(folder / "golden-data"), branch=True, source=[str(golden_models())], config_file=False
    )
    counter.combine([str(path) for path in data], keep=True)
    with redirect_stdout(StringIO()):
        counter.xml_report(outfile=str(reports / GOLDEN))
        counter.html_report(directory=str(reports / "golden"), title="Golden models")


def publish(reports: Path, out: Path) -> None:
    """Put reports into `out`, whole, in the place of an earlier run's; one run at a time."""
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for entry in reports.iterdir():
            target = out / entry.name
            if target.is_dir():
                shutil.rmtree(target)
            entry.replace(target)
