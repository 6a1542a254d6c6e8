"""Does the golden model refuse hostile inputs with a message, and take all others?"""

from __future__ import annotations

from collections.abc import Iterator

from opgold.harness.finding import Finding
from opgold.harness.runner import Trial

CATCHES = "a precondition that is not checked, or that refuses lawful inputs"


def check(trial: Trial) -> Iterator[Finding]:
    golden, wanted = trial.golden, trial.case.refused

    def finding(message: str, expected: str | None = None, got: str | None = None) -> Finding:
        return Finding(trial.case.op, "golden", "refusal", message, None, None, expected, got, case=trial.case.name)

    if golden.crash is not None:
        yield finding(f"the golden model fails instead of refusing: {golden.crash}")
    elif wanted is None and golden.refusal is not None:
        yield finding(f"the golden model refuses inputs that the case holds for lawful: {golden.refusal}")
    elif wanted is not None and golden.refusal is None:
        yield finding("the golden model computes with inputs that it should refuse", wanted or "a refusal", "a result")
    elif wanted and golden.refusal is not None and wanted not in golden.refusal:
        yield finding("the golden model refuses for another reason", wanted, golden.refusal)
