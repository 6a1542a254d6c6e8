"""Generated sequences: a Hypothesis state machine whose rules append steps and play them."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import hypothesis
from hypothesis import Phase, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from opgold.harness import rounds
from opgold.harness.backends.base import Backend
from opgold.harness.finding import Finding
from opgold.harness.rounds.play import Player, play
from opgold.harness.rounds.script import (
    FORMS,
    INSTANCES,
    SCHEDULERS,
    Block,
    Insert,
    Preempt,
    Resume,
    Round,
    Script,
    Turn,
)
from opgold.harness.rounds.shrink import shrink
from opgold.harness.rounds.world import MakeWorld, World
from opgold.harness.search import generating

STEPS = 25  # rules of one generated sequence


@dataclass
class Outcome:
    """What a search did: sequences with a round, rounds and calls compared in them, and one that has findings."""

    executed: int = 0
    rounds: int = 0
    compared: int = 0
    findings: list[Finding] = field(default_factory=list)
    script: Script | None = None


class _Found(Exception):
    pass


class Rounds(RuleBasedStateMachine):
    """Plays what it draws. Each subclass that `search` makes has an outcome and a way to start a player."""

    outcome: Outcome
    advance: Callable[[], None]
    player_of: Callable[[Script], Player]
    player: Player

    @initialize(
        form=st.sampled_from((*FORMS, "stateful")),
        instance=st.sampled_from((*INSTANCES, "mixed", "mixed", "decode")),
        scheduler=st.sampled_from((*SCHEDULERS, "v1", "v1")),
        model_steps=st.integers(1, 4),
        slots=st.integers(1, 4),
        data=st.data(),
    )
    def begin(
        self, form: Any, instance: Any, scheduler: Any, model_steps: int, slots: int, data: st.DataObject
    ) -> None:
        self.script = Script(form, model_steps, slots, (), instance, scheduler if form == "stateful" else "v1")
        self.player = type(self).player_of(self.script)
        for _ in range(data.draw(st.integers(1, slots), "requests")):
            self._insert(data)

    @property
    def free(self) -> list[int]:
        return [slot for slot in range(self.script.slots) if slot not in self.player.account.requests]

    @property
    def past_prompt(self) -> list[int]:
        """Slots whose request has run its prompt: only those can be blocked."""
        return [slot for slot, r in self.player.account.requests.items() if r.cached >= r.insert.prompt]

    @precondition(lambda self: self.free)
    @rule(data=st.data())
    def insert(self, data: st.DataObject) -> None:
        self._insert(data)

    def _insert(self, data: st.DataObject, slot: int | None = None) -> None:
        script, decode = self.script, self.script.instance == "decode"
        prompt = data.draw(st.integers(1, 12), "prompt")
        output = 0 if decode else data.draw(st.integers(0, min(prompt - 1, 2)), "output")
        if slot is None:
            slot = data.draw(st.sampled_from(self.free), "slot")
        step = Insert(slot, prompt, output=output)
        step = replace(
            step,
            max_dec=data.draw(st.sampled_from([32, 32, 32, 32, 3, 4, 5, 6, 8, 12]), "max_dec") + output,
            chunk=0 if decode else data.draw(st.sampled_from([0, *range(1, prompt)]), "chunk"),
            delta=data.draw(st.sampled_from([0, 0, 1, 5]), "delta") if script.stateful else 0,
            drafts=data.draw(st.integers(1, script.model_steps), "drafts") if decode else 1,
        )
        self.take(step)

    @rule(data=st.data())
    def accept_all(self, data: st.DataObject) -> None:
        """Every draft is accepted."""
        self._populate(data)
        turns = {slot: Turn(window) for slot, window in self.windows().items() if window > 1}
        self.take(Round(turns))

    @rule(data=st.data())
    def reject_all(self, data: st.DataObject) -> None:
        """No draft is accepted."""
        self._populate(data)
        self.take(Round())

    @rule(data=st.data())
    def play(self, data: st.DataObject) -> None:
        """Some drafts are accepted, some requests and some drafts end."""
        self._populate(data)
        turns = {}
        ends = st.sampled_from([None, None, *range(self.script.model_steps)])
        for slot, window in self.windows().items():
            turn = Turn(
                data.draw(st.integers(1, window), f"slot {slot}: accept"),
                data.draw(st.sampled_from([False] * 5 + [True]), f"slot {slot}: stop"),
                data.draw(ends, f"slot {slot}: end"),
            )
            if turn != Turn():
                turns[slot] = turn
        self.take(Round(turns))

    @precondition(lambda self: self.past_prompt)
    @rule(data=st.data())
    def block_or_resume(self, data: st.DataObject) -> None:
        slot = data.draw(st.sampled_from(self.past_prompt), "slot")
        self.take((Resume if self.player.account.requests[slot].blocked else Block)(slot))

    @precondition(lambda self: self.past_prompt)
    @rule(data=st.data())
    def sit_out_a_round(self, data: st.DataObject) -> None:
        """A slot is blocked for a round, and may end in the round in which it goes on; then another request gets it."""
        slot = data.draw(st.sampled_from(self.past_prompt), "slot")
        if not self.player.account.requests[slot].blocked:
            self.take(Block(slot))
        self.take(Round())
        self.take(Resume(slot))
        self.take(Round({slot: Turn(stop=True)} if data.draw(st.booleans(), "stop") else {}))
        if slot in self.free:
            self._insert(data, slot)
            self.take(Round())

    @precondition(lambda self: not self.free)
    @rule(data=st.data())
    def preempt(self, data: st.DataObject) -> None:
        self.take(Preempt(data.draw(st.sampled_from(sorted(self.player.account.requests)), "slot")))

    def _populate(self, data: st.DataObject) -> None:
        """A round needs a request, also where this sequence draws no other insertions."""
        if not self.player.account.requests:
            self._insert(data)

    def windows(self) -> dict[int, int]:
        """How many tokens the target runs of each request that goes on, 1 for a prompt."""
        requests = self.player.account.requests
        return {
            slot: 1 + r.drafts if r.cached >= r.insert.prompt else 1 for slot, r in requests.items() if not r.blocked
        }

    def take(self, step: Any) -> None:
        """Append a step and play it. Raises _Found, with the outcome noted, if it has findings."""
        outcome = self.outcome
        if outcome.script is not None:
            return  # Hypothesis tries again what failed; that it failed is enough
        self.script = replace(self.script, steps=(*self.script.steps, step))
        before = (self.player.played.rounds, self.player.played.compared)
        findings = self.player.take(step)
        if isinstance(step, Round) and before[0] == 0:
            outcome.executed += 1
            type(self).advance()
        outcome.rounds += self.player.played.rounds - before[0]
        outcome.compared += self.player.played.compared - before[1]
        if findings:
            outcome.script, outcome.findings = self.script, findings
            raise _Found


def search(
    backend: Backend | None,
    machines: int,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
    *,
    driver: Backend | None = None,
    world: MakeWorld = World,
) -> Outcome:
    """Play `machines` generated sequences; stop at the first that has findings, and shrink it."""
    outcome = Outcome()

    def player_of(script: Script) -> Player:
        return Player(script, backend, driver=driver, world=world)

    members = {"outcome": outcome, "advance": staticmethod(advance), "player_of": staticmethod(player_of)}
    machine = type("Machine", (Rounds,), members)
    hypothesis.seed(zlib.crc32(f"{rounds.NAME}:{seed}".encode()))(machine)
    settings = generating(max_examples=max(machines, 1), stateful_step_count=STEPS, phases=(Phase.generate,))
    # flaky: what failed is not played again; the outcome holds what was seen, and is shrunk as a script
    with contextlib.suppress(_Found, hypothesis.errors.Flaky, hypothesis.errors.FlakyFailure):
        run_state_machine_as_test(machine, settings=settings)
    if outcome.script is not None:

        def again(script: Script) -> list[Finding]:
            return play(script, backend, driver=driver, world=world).findings

        outcome.script, outcome.findings = shrink(outcome.script, outcome.findings, again)
    return outcome
