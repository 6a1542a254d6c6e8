"""Oracles, functions from a trial to findings. Each module's first line is what it asks, `CATCHES` what it finds.

Those in GOLDEN judge the golden model alone and need no run of a backend; those in KERNEL judge a backend's runs. The
one in SEQUENCES is asked at every op of a sequence, by `opgold.harness.rounds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

from opgold.harness.finding import Finding
from opgold.harness.oracles import (
    address,
    bounds,
    expect,
    footprint,
    inputs,
    launch,
    metamorphic,
    overflow,
    race,
    refusal,
    schedule,
    sequence,
    uninitialised,
    values,
)
from opgold.harness.runner import Trial

GOLDEN: dict[str, ModuleType] = {"refusal": refusal, "expect": expect, "metamorphic": metamorphic}
KERNEL: dict[str, ModuleType] = {
    "values": values,
    "footprint": footprint,
    "inputs": inputs,
    "bounds": bounds,
    "uninitialised": uninitialised,
    "race": race,
    "schedule": schedule,
    "overflow": overflow,
    "address": address,
    "launch": launch,
}
HOSTILE = ("inputs", "bounds", "race", "overflow", "launch")  # what still holds when the inputs break the contract
SEQUENCES: dict[str, ModuleType] = {"sequence": sequence}
ALL = GOLDEN | KERNEL | SEQUENCES


def judge(trial: Trial) -> Iterator[Finding]:
    """All findings of a trial."""
    for oracle in GOLDEN.values():
        yield from oracle.check(trial)
    yield from judge_runs(trial)


def judge_runs(trial: Trial) -> Iterator[Finding]:
    """The findings on a backend's runs."""
    if trial.golden.crash is not None or not trial.runs:
        return
    if trial.golden.refusal is not None and not trial.hostile:
        return
    found = list(_of_kernel(trial))
    yield from found
    if trial.earlier is not None:
        kinds = {finding.kind for finding in found}
        for finding in _of_kernel(trial.earlier):
            if finding.kind not in kinds:
                variant = f"{finding.variant or 'every run'}; the call with zeros before the case's own"
                yield replace(finding, variant=variant)


def _of_kernel(trial: Trial) -> Iterator[Finding]:
    for name, oracle in KERNEL.items():
        if not trial.hostile or name in HOSTILE:
            yield from oracle.check(trial)
