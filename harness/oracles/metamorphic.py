"""Do permuted slots, added idle slots or more capacity change the golden model's result only as they should?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from opgold.cases.relations import Relation
from opgold.cases.sample import Sample
from opgold.harness.case import Case
from opgold.harness.finding import Finding
from opgold.harness.locate import strategy
from opgold.harness.oracles._findings import at_elements
from opgold.harness.runner import Golden, Trial, case_seed, run_golden, same_bits

CATCHES = "a golden model that shares the kernel's mistake"


def check(trial: Trial) -> Iterator[Finding]:
    case, golden = trial.case, trial.golden
    if golden.refusal is not None or golden.crash is not None:
        return
    sample = Sample(case.inputs, case.sizes)
    for relation, twin in twins(case):
        expected = relation.expect(sample, golden.arrays, np.random.default_rng(case_seed(case)))
        yield from _compare(trial, relation.name, twin, run_golden(twin), dict(expected))


def twins(case: Case) -> Iterator[tuple[Relation, Case]]:
    """The relations that apply to a case, each with the case on changed inputs."""
    sample = Sample(case.inputs, case.sizes)
    for relation in strategy(case.op).RELATIONS if case.relations else ():
        changed = relation.transform(sample, np.random.default_rng(case_seed(case)))
        if changed is not None:
            yield relation, replace(case, inputs=changed.inputs, sizes=changed.sizes, expect={}, refused=None)


def _compare(trial: Trial, relation: str, twin: Case, got: Golden, expected: dict[str, object]) -> Iterator[Finding]:
    if got.refusal or got.crash:
        message = f"{relation}: the golden model refuses the changed inputs: {got.refusal or got.crash}"
        yield Finding(trial.case.op, "golden", "metamorphic", message, case=trial.case.name)
        return
    seen = replace(trial, case=twin)
    for name, wanted in expected.items():
        array = got.arrays.get(name)
        if array is None or not isinstance(wanted, np.ndarray):
            continue
        if array.shape != wanted.shape:
            message = f"{relation}: {name} has shape {array.shape}, expected {wanted.shape}"
            yield Finding(trial.case.op, "golden", "metamorphic", message, name, case=trial.case.name)
            continue
        wrong = got.defined[name] & ~same_bits(array, wanted)
        if wrong.any():
            message = f"{relation}: the golden model's result on the changed inputs does not follow from the original's"
            yield at_elements(seen, "metamorphic", message, name, wrong, expected=wanted, got=array, backend="golden")
