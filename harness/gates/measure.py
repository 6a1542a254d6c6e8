"""The child of `counts`: runs the cases of one op on its coverage builds, and counts lines of golden models.

Run as `python -m opgold.harness.gates.measure REQUEST`; `Request.text` makes REQUEST. GCOV_PREFIX tells where the
kernels' counts go when the process ends. Nothing of opgold that loads a golden model is imported before counting.
"""

from __future__ import annotations

import importlib.util
import json
import pickle
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opgold.harness.check import OpResult


@dataclass(frozen=True)
class Request:
    """One op's cases. Counts of golden models go to `golden`, a list of Outcome, pickled, to `outcomes`."""

    op: str
    backends: list[str]
    examples: int
    seed: int
    golden: str
    outcomes: str

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Outcome:
    """What came of the cases on one backend, and the compiler's notes of the kernel that ran."""

    backend: str
    result: OpResult
    notes: list[Path]


def golden_models() -> Path:
    """The folder of golden models, found without importing it."""
    found = importlib.util.find_spec("opgold.reference")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).resolve().parent


def run(request: Request) -> list[Outcome]:
    """Run the cases on each backend, past failures that are known. A kernel that does not compile has its finding, and
    no notes."""
    from opgold.harness import check, ledger
    from opgold.harness.gates.counted import Counted

    known = ledger.read(ledger.PATH)
    outcomes = []
    for name in request.backends:
        backend = Counted(name)
        result = check.check_op(request.op, backend, request.examples, request.seed, ledger=known)
        failed = any(finding.oracle == "build" for finding in result.findings)
        outcomes.append(Outcome(name, result, [] if failed else backend.notes(request.op)))
    return outcomes


def main(text: str) -> None:
    import coverage

    request = Request(**json.loads(text))
    counter = coverage.Coverage(
        data_file=request.golden,
        branch=True,
        include=[f"{golden_models()}/*"],
        omit=["*/schema.py"],  # the vocabulary, no golden model
        config_file=False,
    )
    counter.start()
    from opgold.harness.gates import measure  # this module under its own name: what is pickled must be found again

    outcomes = measure.run(request)
    counter.stop()
    counter.save()
    Path(request.outcomes).write_bytes(pickle.dumps(outcomes))


if __name__ == "__main__":
    main(sys.argv[1])
