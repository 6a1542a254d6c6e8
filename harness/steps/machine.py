"""Generated chains: drawn step by step along the account, then played."""

from __future__ import annotations

import contextlib
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import hypothesis
from hypothesis import Phase, strategies as st

from opgold.harness import steps
from opgold.harness.backends.base import Backend
from opgold.harness.finding import Finding
from opgold.harness.search import generating
from opgold.harness.smallest import smallest
from opgold.harness.steps.account import Account
from opgold.harness.steps.play import play
from opgold.harness.steps.script import (
    GPU_SEEDS,
    METHODS,
    STOP_TOKENS,
    STOPS,
    XPU_SEEDS,
    Insert,
    Preempt,
    Script,
    Step,
    Turn,
)
from opgold.harness.steps.shrink import simpler
from opgold.harness.steps.toy import LINE_BREAK, THINK_END, WORDS
from opgold.harness.steps.world import MakeWorld, World

STEPS = 16  # steps of the target in a generated chain, at most
TEXT = (*WORDS, LINE_BREAK, THINK_END)


@dataclass
class Outcome:
    """What a search did: chains with a step, steps and calls compared in them, how often a slot with drafts emitted so
    many tokens, and a chain that has findings."""

    executed: int = 0
    rounds: int = 0
    compared: int = 0
    emitted: Counter[int] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    script: Script | None = None


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Whole chains: requests enter free slots, and right and wrong drafts mix in every step."""
    method = draw(st.sampled_from(METHODS), "method")
    drafts = 0 if method == "naive" else draw(st.sampled_from((4, 3, 2, 1)), "drafts")
    script = Script(
        method,
        drafts,
        draw(st.integers(1, 4), "slots"),
        layout=draw(st.sampled_from((0, 1)), "layout"),
        increment=draw(st.sampled_from((0, 0, 4, 4 * drafts + 5)), "increment"),
        max_infer_seed=draw(st.sampled_from((GPU_SEEDS, XPU_SEEDS)), "max_infer_seed"),
        hit_at_limit=draw(st.booleans(), "hit_at_limit"),
    )
    account = Account(script)
    taken: list[Insert | Step | Preempt] = []
    for _ in range(draw(st.integers(2, STEPS), "steps")):
        news: list[Insert | Preempt] = []
        held = sorted(account.requests)
        for slot in set(range(script.slots)) - set(held):
            if not account.requests or draw(st.booleans(), "insert"):
                news.append(draw(inserts(script, slot), "request"))
                account.take(news[-1])
        if held and draw(st.integers(0, 19), "preempt") == 0:
            news.append(Preempt(draw(st.sampled_from(held), "slot")))
            account.take(news[-1])
        decoding = [slot for slot, request in account.requests.items() if request.emitted]
        turns = {slot: draw(turn(drafts), "turn") for slot in decoding} if method == "mtp" else {}
        going = Step({slot: given for slot, given in turns.items() if given != Turn()})
        account.take(going)
        taken += [*news, going]
    return replace(script, steps=tuple(taken))


@st.composite
def turn(draw: st.DrawFn, drafts: int) -> Turn:
    """All right, all wrong, or right up to one of them."""
    count = draw(st.sampled_from((*[drafts] * 6, *range(drafts + 1))))
    right = draw(st.sampled_from((*[count] * 6, *range(count + 1))))
    return Turn(right, count - right)


@st.composite
def inserts(draw: st.DrawFn, script: Script, slot: int) -> Insert:
    """A request; stop sequences and limits are often such that they strike."""
    sequences = st.lists(st.sampled_from(TEXT), min_size=1, max_size=STOP_TOKENS).map(tuple)
    insert = Insert(
        slot,
        tuple(draw(st.lists(st.sampled_from(TEXT), min_size=1, max_size=8), "prompt")),
        max_dec=draw(st.sampled_from((32, 32, 32, 1, 2, 5, 11)), "max_dec"),
        min_dec=draw(st.sampled_from((0, 6, 30)), "min_dec"),
        stops=tuple(draw(st.lists(sequences, max_size=STOPS), "stops")),
        think=draw(st.sampled_from((-1, -1, -1, -1, 6, 3, 1, 0)), "think"),
        reply=draw(st.sampled_from((-1, -1, -1, 5, 2, 0)), "reply"),
        seed=draw(st.sampled_from((-1, script.max_infer_seed - 1 - 4096 * slot)), "seed"),
    )
    return replace(insert, stops=insert.stops if draw(st.booleans(), "with stops") else ())


def search(
    backend: Backend | None,
    chains: int,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
    *,
    driver: Backend | None = None,
    world: MakeWorld = World,
) -> Outcome:
    """Play `chains` generated chains; stop at the first that has findings, and shrink it."""
    outcome = Outcome()

    class Stop(Exception):
        pass

    def attempt(script: Script) -> None:
        if outcome.script is not None:
            return  # Hypothesis tries again what failed; that it failed is enough
        played = play(script, backend, driver=driver, world=world)
        outcome.executed += 1
        advance()
        outcome.rounds += played.rounds
        outcome.compared += played.compared
        outcome.emitted += played.emitted
        if played.findings:
            outcome.script, outcome.findings = script, played.findings
            raise Stop

    run = generating(max_examples=max(chains, 1), phases=(Phase.generate,))(hypothesis.given(scripts())(attempt))
    # flaky: what failed is not played again; the outcome holds what was seen, and is shrunk as a script
    with contextlib.suppress(Stop, hypothesis.errors.Flaky, hypothesis.errors.FlakyFailure):
        hypothesis.seed(zlib.crc32(f"{steps.NAME}:{seed}".encode()))(run)()
    if outcome.script is not None:

        def again(script: Script) -> list[Finding]:
            return play(script, backend, driver=driver, world=world).findings

        outcome.script, outcome.findings = smallest(outcome.script, outcome.findings, again, simpler)
    return outcome
