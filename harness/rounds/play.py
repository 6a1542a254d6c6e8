"""Plays a sequence on the golden models and, call by call, on a backend. Stops at the first step with findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opgold.harness.backends.base import Backend
from opgold.harness.calls import Calls, Found, Violation
from opgold.harness.finding import Finding
from opgold.harness.rounds import invariants
from opgold.harness.rounds.account import Account, Share
from opgold.harness.rounds.script import Block, Insert, Preempt, Resume, Round, Script, Step, kind
from opgold.harness.rounds.world import MakeWorld, World
from opgold.harness.runner import poisoned
from opgold.reference.schema import Signature, load


@dataclass
class Played:
    """What came of a sequence: rounds played to their end, calls that were compared, findings of the last step."""

    rounds: int = 0
    compared: int = 0
    findings: list[Finding] = field(default_factory=list)


class Player:
    """Takes the steps of a sequence one by one.

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

    def take(self, step: Step) -> list[Finding]:
        """The findings of a step. Raises ScriptError for one that no server could take."""
        self._steps += 1
        self._calls.where = f"step {self._steps} ({kind(step)})"
        try:
            if isinstance(step, Round):
                self._round(step)
            else:
                self.account.take(step)
                self._glue(step)
        except Found as found:
            self.played.findings = found.findings
        self.played.compared = self._calls.compared
        return self.played.findings

    def _glue(self, step: Insert | Block | Resume | Preempt) -> None:
        """What the caller does outside of rounds. A prompt's chunks enter at the start of their round."""
        if isinstance(step, Block):
            self.world.block(step)
        elif isinstance(step, Resume):
            self.world.resume(step)
        elif isinstance(step, Preempt):
            self.world.preempt(step)
        elif self.script.instance == "decode":
            self.world.insert_handed_over(self.account.requests[step.slot])

    def _round(self, step: Round) -> None:
        world, account, calls = self.world, self.account, self._calls
        for request in account.requests.values():
            if request.cached < request.insert.prompt:
                world.insert_chunk(request)
        shares = account.round(step.turns)
        world.batch = max(shares, default=-1) + 1
        for share in shares.values():
            world.verify(share)
        step_name = calls.where
        self._call(world.preprocess(), shares, invariants.after_preprocess(world, shares.values()))
        for substep in range(self.script.model_steps):
            calls.where = f"{step_name}, substep {substep}"
            packed = self._call(world.pack(), shares)
            world.packed = packed
            calls.hold("speculate_pre_process", invariants.after_pack(world, shares.values(), substep))
            world.ends = self._call(world.mask(), shares)["attn_mask_offsets"]
            mask = "update_attn_mask_offsets" + ("" if self.script.stateful else "_stateless")
            calls.hold(mask, invariants.after_mask(world, shares.values(), substep))
            self._call(world.update(shares, substep), shares, invariants.after_update(world, shares.values(), substep))
        calls.where = step_name
        self._call(world.postprocess(), shares, invariants.after_postprocess(world, shares.values()))
        for share in shares.values():
            if share.slot not in account.requests:
                world.target.stop[share.slot] = True  # a prefill instance has handed it over
        self.played.rounds += 1

    def _call(
        self, call: tuple[str, dict[str, Any]], shares: dict[int, Share], violations: Iterable[Violation] = ()
    ) -> dict[str, np.ndarray]:
        """Make a call, and return its outputs."""
        op, values = call
        outputs = _outputs(load(op), values)
        self._calls.make(op, values | outputs, shares, violations)
        return outputs


def _outputs(signature: Signature, values: dict[str, Any]) -> dict[str, np.ndarray]:
    """A call's outputs, filled with poison."""
    outputs: dict[str, np.ndarray] = {}
    if not signature.outputs:
        return outputs
    extents = {"bsz": len(values["seq_lens_encoder"]), "cpu_token_num": values.get("cpu_token_num", 0)}
    extents["max_draft"] = values["draft_tokens" if "draft_tokens" in values else "decode_states"].shape[1]
    extents["tokens"] = len(values.get("ids_remove_padding", ()))
    for name, shape in signature.shapes(extents).items():
        outputs[name] = poisoned(name, shape, np.dtype(signature.argument(name).dtypes[0]), 0)
    return outputs


def play(
    script: Script, backend: Backend | None = None, *, driver: Backend | None = None, world: MakeWorld = World
) -> Played:
    """Play a whole sequence, or up to the first step with findings, which then point at its file."""
    player = Player(script, backend, driver=driver, world=world)
    for step in script.steps:
        if player.take(step):
            break
    if script.path is not None:
        player.played.findings = [finding.of_file(script.path) for finding in player.played.findings]
    return player.played
