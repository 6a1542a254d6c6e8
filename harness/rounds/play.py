"""Plays a sequence on the golden models and, call by call, on a backend. Stops at the first step with findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opgold.harness.backends.base import Backend, Variant
from opgold.harness.backends.golden import GoldenBackend
from opgold.harness.finding import Finding
from opgold.harness.rounds import invariants
from opgold.harness.rounds.account import Account, Share
from opgold.harness.rounds.invariants import Violation
from opgold.harness.rounds.script import Block, Insert, Preempt, Resume, Round, Script, Step, kind
from opgold.harness.rounds.world import MakeWorld, World
from opgold.harness.runner import poison_byte, same_bits
from opgold.kernels.report import Report
from opgold.reference.schema import Signature, load

ORACLE = "sequence"
ORDERS = ("ascending", "descending", "random")


class _Found(Exception):
    def __init__(self, *findings: Finding) -> None:
        super().__init__()
        self.findings = list(findings)


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
        self._backend = backend
        self._driver = driver or GoldenBackend()
        self._step = ""
        self._steps = 0
        self._calls = 0

    def take(self, step: Step) -> list[Finding]:
        """The findings of a step. Raises ScriptError for one that no server could take."""
        self._steps += 1
        self._step = f"step {self._steps} ({kind(step)})"
        try:
            if isinstance(step, Round):
                self._round(step)
            else:
                self.account.take(step)
                self._glue(step)
        except _Found as found:
            self.played.findings = found.findings
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
        world, account = self.world, self.account
        for request in account.requests.values():
            if request.cached < request.insert.prompt:
                world.insert_chunk(request)
        shares = account.round(step.turns)
        world.batch = max(shares, default=-1) + 1
        for share in shares.values():
            world.verify(share)
        self._prefix = self._step
        self._call(world.preprocess(), shares, invariants.after_preprocess(world, shares.values()))
        for substep in range(self.script.model_steps):
            self._step = f"{self._prefix}, substep {substep}"
            packed = self._call(world.pack(), shares)
            world.packed = packed
            self._hold("speculate_pre_process", invariants.after_pack(world, shares.values(), substep))
            world.ends = self._call(world.mask(), shares)["attn_mask_offsets"]
            mask = "update_attn_mask_offsets" + ("" if self.script.stateful else "_stateless")
            self._hold(mask, invariants.after_mask(world, shares.values(), substep))
            self._call(world.update(shares, substep), shares, invariants.after_update(world, shares.values(), substep))
        self._step = self._prefix
        self._call(world.postprocess(), shares, invariants.after_postprocess(world, shares.values()))
        for share in shares.values():
            if share.slot not in account.requests:
                world.target.stop[share.slot] = True  # a prefill instance has handed it over
        self.played.rounds += 1

    def _hold(self, op: str, violations: Iterable[Violation]) -> None:
        """Raise _Found for the first violation: those behind it follow from it."""
        for rule, share, argument, expected, got in violations:
            raise _Found(
                Finding(
                    op,
                    self._driver.name,
                    ORACLE,
                    f"{self._step}: {rule}",
                    argument,
                    None,
                    str(expected),
                    str(got),
                    str(share) if share else None,
                    cause=rule,
                )
            )

    def _call(
        self, call: tuple[str, dict[str, Any]], shares: dict[int, Share], violations: Iterable[Violation] = ()
    ) -> dict[str, np.ndarray]:
        """Make a call on both sides, compare, and return its outputs. `violations` are looked for after it."""
        op, values = call
        signature = load(op)
        outputs = _outputs(signature, values)
        values |= outputs
        copies = None
        if self._backend is not None and self._backend.has(op):
            copies = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in values.items()}
        failed = self._failure(self._driver, signature, values, Variant())
        if failed is not None:
            raise _Found(self._refused(op, self._driver, failed))
        if copies is not None:
            self._compare(signature, values, copies, shares)
        self._hold(op, violations)
        return outputs

    def _failure(
        self, backend: Backend, signature: Signature, values: dict[str, Any], variant: Variant
    ) -> Report | str | None:
        try:
            report = backend.call(signature, values, variant)
        except Exception as error:
            return f"fails: {type(error).__name__}: {error}"
        return report if report.error is not None or report.faults else None

    def _refused(self, op: str, backend: Backend, failure: Report | str, variant: Variant | None = None) -> Finding:
        """What a call that did not come through, or not without a fault, is reported as."""
        cause = None
        if isinstance(failure, str):
            message = failure
        elif failure.faults:
            fault = failure.faults[0]
            message = str(fault)
            where = fault.place.frames[0] if fault.place.frames else (fault.file, fault.line)
            cause = f"{fault.kind} {fault.argument} {where}"
        else:
            message = f"refuses what a round brings: {failure.error}"
        text = str(variant) if variant else None
        return Finding(op, backend.name, ORACLE, f"{self._step}: {message}", variant=text, cause=cause or message)

    def _compare(
        self, signature: Signature, values: dict[str, Any], copies: dict[str, Any], shares: dict[int, Share]
    ) -> None:
        """Call the backend on the copies; every argument must come out as from the golden model."""
        backend, number = self._backend, self._calls
        assert backend is not None
        self._calls += 1
        variant = Variant(ORDERS[number % len(ORDERS)], number % 4, 0, number)
        failed = self._failure(backend, signature, copies, variant)
        if failed is not None:
            raise _Found(self._refused(signature.op, backend, failed, variant))
        self.played.compared += 1
        found = []
        for argument in signature.arguments:
            expected, got = values[argument.name], copies[argument.name]
            if expected is None or expected.tobytes() == got.tobytes():
                continue
            index = tuple(int(i) for i in np.argwhere(~same_bits(expected, got))[0])
            slot = index[0] if argument.dims[0] == "bsz" else None
            share = shares.get(slot) if slot is not None else None
            found.append(
                Finding(
                    signature.op,
                    backend.name,
                    ORACLE,
                    f"{self._step}: another value than the golden model's",
                    argument.name,
                    index,
                    str(expected[index]),
                    str(got[index]),
                    str(share) if share else None if slot is None else f"slot {slot} (idle)",
                    str(variant),
                )
            )
        if found:
            raise _Found(*found)


def _outputs(signature: Signature, values: dict[str, Any]) -> dict[str, np.ndarray]:
    """A call's outputs, filled with poison."""
    outputs: dict[str, np.ndarray] = {}
    if not signature.outputs:
        return outputs
    extents = {"bsz": len(values["seq_lens_encoder"]), "cpu_token_num": values.get("cpu_token_num", 0)}
    extents["max_draft"] = values["draft_tokens" if "draft_tokens" in values else "decode_states"].shape[1]
    extents["tokens"] = len(values.get("ids_remove_padding", ()))
    for name, shape in signature.shapes(extents).items():
        dtype = np.dtype(signature.argument(name).dtypes[0])
        raw = np.full(int(np.prod(shape)) * dtype.itemsize, poison_byte(name, 0), np.uint8)
        outputs[name] = raw.view(dtype).reshape(shape)
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
        played = player.played
        played.findings = [replace(f, case=script.path.stem, saved=script.path) for f in played.findings]
    return player.played
