"""Plays a chain on the golden models and, call by call, on a backend. Stops at the first step with findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opgold.harness.acceptance import Acceptance
from opgold.harness.backends.base import Backend
from opgold.harness.calls import Calls, Found, Violation
from opgold.harness.finding import Finding
from opgold.harness.runner import poisoned
from opgold.harness.steps import invariants
from opgold.harness.steps.account import Account, Share
from opgold.harness.steps.script import AnyStep, Block, Insert, Preempt, Resume, Script, Step, kind
from opgold.harness.steps.world import Call, MakeWorld, World
from opgold.reference.schema import Signature, load


@dataclass
class Played:
    """What came of a chain: steps of the target played to their end, calls that were compared, how many of their drafts
    slots emitted in a step, findings of the last step."""

    rounds: int = 0
    compared: int = 0
    accepted: Acceptance = field(default_factory=Acceptance)
    findings: list[Finding] = field(default_factory=list)


class Player:
    """Takes the steps of a chain one by one.

    State advances by `driver`, the golden models, and is held to the account. Each call that `backend` has is made
    there too, on a copy of the same state, and must leave the same bits in every argument.
    """

    def __init__(
        self, script: Script, backend: Backend | None = None, *, driver: Backend | None = None, world: MakeWorld = World
    ) -> None:
        self.script = script
        self.account = Account(script)
        self.world = world(script)
        self.played = Played()
        self._calls = Calls(backend, driver)
        self._steps = 0

    def take(self, step: AnyStep) -> list[Finding]:
        """The findings of a step. Raises ScriptError for one that no server could take."""
        self._steps += 1
        self._calls.where = f"step {self._steps} ({kind(step)})"
        try:
            shares = self.account.take(step)
            if isinstance(step, Insert):
                self.world.insert(self.account.requests[step.slot])
            elif isinstance(step, Preempt):
                self.world.preempt(step)
            elif isinstance(step, Block):
                self._block(step)
            elif isinstance(step, Resume):
                self.world.resume(step)
            elif isinstance(step, Step):
                self._step(shares)
        except Found as found:
            self.played.findings = found.findings
        self.played.compared = self._calls.compared
        return self.played.findings

    def _step(self, shares: dict[int, Share]) -> None:
        world, method = self.world, self.script.method
        of = list(shares.values())
        world.batch = max(shares, default=-1) + 1
        for share in of:
            if share.state in ("prompt", "chunk"):
                world.chunk(share)
        self._call(world.recover(), shares, lambda: invariants.after_recover(world, of))
        for share in of:
            world.draft(share)
        if method in ("ngram", "hybrid"):
            self._call(world.match(), shares, lambda: invariants.after_match(world, of))
        world.packed = self._call(world.pack(), shares)
        self._calls.hold("speculate_pre_process", invariants.after_pack(world, of))
        seeds = self._call(world.seed(), shares)["topp_seed"]
        self._calls.hold("build_sampling_params", invariants.after_seed(world, of, seeds))
        world.run()
        before = world.logits.copy()
        self._call(world.penalty(), shares, lambda: invariants.after_penalty(world, of, before))
        penalised = world.logits.copy()
        self._call(world.reason(), shares, lambda: invariants.after_reason(world, of, penalised))
        world.sample()
        if self.script.verify == "top_p":
            world.listed = self._call(world.candidates(), shares)
            self._calls.hold("top_p_candidates", invariants.after_candidates(world, of))
        self._call(world.verify(), shares, lambda: invariants.after_verify(world, of))
        self._call(world.cut(), shares, lambda: invariants.after_cut(world, of))
        self._call(world.limit(), shares, lambda: invariants.after_limit(world, of))
        history = world.update
        if self.script.update == "legacy":
            world.finish()
            self._call(world.legacy_update(), shares, lambda: invariants.after_legacy_update(world, of))
            history = world.write
        self._call(history(), shares, lambda: invariants.after_update(world, of))
        if method == "hybrid":
            self._call(world.write_emitted(), shares, lambda: invariants.after_write(world, of))
        for share in of:
            world.take_back(share)
        kept = self.account.requests.values()
        self._call(world.schedule(), shares, lambda: invariants.after_schedule(world, of, kept))
        for share in of:
            if share.slot not in self.account.requests:
                world.retire(share.slot)
            if share.drafts:
                self.played.accepted.add([(len(share.drafts), len(share.emitted) - 1)])
        self.played.rounds += 1

    def _block(self, step: Block) -> None:
        """The scheduler finds no cache block for the slot."""
        world, requests = self.world, self.account.requests
        world.batch = max(requests) + 1
        world.block(step)
        self._call(world.schedule(), requests, lambda: invariants.kept(world, requests.values()))

    def _call(
        self, call: Call, shares: Mapping[int, object], violations: Callable[[], Iterator[Violation]] = lambda: iter(())
    ) -> dict[str, np.ndarray]:
        """Make a call, and return its outputs. `violations` are looked for after it."""
        op, values = call
        signature = load(op)
        outputs = _outputs(signature, values)
        self._calls.make(op, signature.complete(values) | outputs, shares)
        self._calls.hold(op, violations())
        return outputs


def _outputs(signature: Signature, values: dict[str, Any]) -> dict[str, np.ndarray]:
    """A call's outputs, filled with poison."""
    outputs: dict[str, np.ndarray] = {}
    if not signature.outputs:
        return outputs
    for name, shape in signature.shapes(signature.bind(values)).items():
        outputs[name] = poisoned(name, shape, signature.dtype(signature.argument(name), values), 0)
    return outputs


def play(
    script: Script, backend: Backend | None = None, *, driver: Backend | None = None, world: MakeWorld = World
) -> Played:
    """Play a whole chain, or up to the first step with findings, which then point at its file."""
    player = Player(script, backend, driver=driver, world=world)
    for step in script.steps:
        if player.take(step):
            break
    if script.path is not None:
        player.played.findings = [finding.of_file(script.path) for finding in player.played.findings]
    return player.played
