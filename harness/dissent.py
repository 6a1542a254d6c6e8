"""Who stands alone: the element of a finding on the golden model and on every backend that was checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from opgold.harness import casefile, sequences
from opgold.harness.backends.base import NO_CALL, Backend, Variant
from opgold.harness.case import Case
from opgold.harness.finding import Finding
from opgold.harness.oracles._findings import show
from opgold.harness.runner import run_backend, run_golden, variants

ORACLES = ("values", "footprint")


def compared(findings: Sequence[Finding], backends: Sequence[Backend]) -> list[Finding]:
    """The findings; the last of each kind about a wrong element tells what each side has there."""
    told: set[tuple[str, ...]] = set()
    result = []
    for finding in reversed(findings):
        fresh = finding.oracle in ORACLES and finding.saved is not None and finding.kind not in told
        if fresh and finding.op not in sequences.NAMES:
            told.add(finding.kind)
            finding = replace(finding, sides=_sides(finding, backends))  # noqa: PLW2901
        result.append(finding)
    return result[::-1]


def verdict(values: Mapping[str, str]) -> str:
    """`golden 5, cuda-emu 5, xpu-emu 7: xpu-emu stands alone`; the end only where one of three or more differs."""
    text = ", ".join(f"{side} {value}" for side, value in values.items())
    counts = Counter(values.values())
    if len(values) < 3 or sorted(counts.values()) != [1, len(values) - 1]:
        return text
    lone = next(side for side, value in values.items() if counts[value] == 1)
    return f"{text}: {'the golden model' if lone == 'golden' else lone} stands alone"


def _sides(finding: Finding, backends: Sequence[Backend]) -> str | None:
    assert finding.saved is not None
    case = casefile.read(finding.saved)
    golden = run_golden(case)
    if finding.argument not in golden.arrays:
        return None
    values = {"golden": _element(finding, golden.arrays)}
    for backend in backends:
        if backend.has(case.op):
            try:
                values[backend.name] = _on(backend, case, finding)
            except NO_CALL:
                values[backend.name] = "nothing: it cannot be called"
    return verdict(values)


def _on(backend: Backend, case: Case, finding: Finding) -> str:
    same = (variant for variant in variants(case, backend) if str(variant) == finding.variant)
    run = run_backend(case, backend, next(same, Variant()) if backend.name == finding.backend else Variant())
    return f"nothing: {run.report.error}" if run.report.error else _element(finding, run.arrays)


def _element(finding: Finding, arrays: Mapping[str, np.ndarray]) -> str:
    assert finding.argument is not None
    element: np.generic = arrays[finding.argument][finding.index or ()]
    return show(element)
