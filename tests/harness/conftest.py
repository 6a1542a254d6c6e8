"""Faults planted in chains: in one op's model, or in the server that calls the ops."""

import numpy as np
import pytest

from opgold.harness import check
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.steps import machine, scriptfile
from opgold.harness.steps.play import play

CHAINS = 500  # a rare fault is drawn late, and what is drawn also hangs on which modules are loaded


class Planted(GoldenBackend):
    """One op's model gets what `before` makes of its arguments, and `after` changes what it leaves."""

    name = "planted"

    def __init__(self, op, before=lambda values: values, after=lambda values, kept: None):
        self.op, self.before, self.after = op, before, after

    def call(self, signature, values, variant):
        if signature.op != self.op:
            return super().call(signature, values, variant)
        kept = {name: np.copy(value) for name, value in values.items() if value is not None}
        report = super().call(signature, self.before(dict(values)), variant)
        if report.error is None:
            self.after(values, kept)
        return report


@pytest.fixture(scope="session")
def plant():
    """Turns a fault (`world`: a server's class; or `op` with `before`, `after`) into arguments of play and search."""
    return lambda fault: fault if "world" in fault else {"driver": Planted(**fault)}


@pytest.fixture
def find(plant, tmp_path):
    """Finds a planted fault by the account alone, shrunk and saved, and shows it again from its file. The finding names
    `op`, or one of them."""

    def find(fault, op, steps, seed):
        outcome = machine.search(None, CHAINS, seed, **plant(fault))
        assert outcome.script is not None, "not found"
        assert outcome.findings[0].op in ((op,) if isinstance(op, str) else op)
        assert len(outcome.script.steps) <= steps, outcome.script
        (finding,) = check.save_sequence(outcome.script, outcome.findings, tmp_path)
        assert finding.oracle == "sequence"
        assert finding.slot is not None
        again = scriptfile.read(finding.saved)
        assert [f.message for f in play(again, **plant(fault)).findings] == [finding.message]
        assert play(again).findings == [], "the models themselves keep to the account"
        return finding

    return find
