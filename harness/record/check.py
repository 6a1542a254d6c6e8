"""`opgold check --recorded`: recorded calls held to the golden models, and run on other backends."""

from __future__ import annotations

from collections.abc import Sequence

from opgold.harness import session
from opgold.harness.backends.base import Backend
from opgold.harness.check import OpResult
from opgold.harness.finding import Finding
from opgold.harness.ledger import EMPTY, Ledger
from opgold.harness.record.folder import Recorded
from opgold.harness.session import Checked


def check(
    recording: Recorded, ops: Sequence[str], backends: Sequence[Backend], ledger: Ledger = EMPTY
) -> list[Checked]:
    """The calls of these ops on each backend, `recording` first among them. Calls that no case can say are findings."""
    runs = session.check_files(recording.cases(ops), backends, ledger)
    for op in ops:
        findings, known = ledger.split(op, misfits(recording, op))
        result = runs[0].of(op) or OpResult(op)
        if result not in runs[0].results and (findings or known):
            runs[0].results.append(result)
        result.findings += findings
        result.known += known
    return runs


def misfits(recording: Recorded, op: str) -> list[Finding]:
    """A finding for each way in which calls of an op do not fit its signature."""
    return [
        Finding(op, recording.name, "launch", f"calls that no case can say, {count:,} of them: {why}")
        for why, count in recording.told["unfit"].get(op, {}).items()
    ]
