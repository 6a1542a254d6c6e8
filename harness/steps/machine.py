"""Generated chains: drawn along the account from a seed, then played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from opgold.harness import steps
from opgold.harness.acceptance import Acceptance
from opgold.harness.backends.base import Backend
from opgold.harness.finding import Finding
from opgold.harness.smallest import smallest
from opgold.harness.steps.account import Account
from opgold.harness.steps.nucleus import reached
from opgold.harness.steps.play import play
from opgold.harness.steps.script import (
    GPU_SEEDS,
    LAYOUTS,
    METHODS,
    STOP_TOKENS,
    STOPS,
    UPDATES,
    XPU_SEEDS,
    AnyStep,
    Block,
    Insert,
    Method,
    Preempt,
    Resume,
    Script,
    Step,
    Turn,
)
from opgold.harness.steps.shrink import simpler
from opgold.harness.steps.toy import LINE_BREAK, THINK_END, WORDS, choices
from opgold.harness.steps.world import MakeWorld, World

STEPS = 16  # steps of the target in a generated chain, at most
TEXT = (*WORDS, LINE_BREAK, THINK_END)


@dataclass
class Outcome:
    """What a search did: chains with a step, steps and calls compared in them, how many of their drafts slots emitted,
    and a chain that has findings."""

    executed: int = 0
    rounds: int = 0
    compared: int = 0
    accepted: Acceptance = field(default_factory=Acceptance)
    findings: list[Finding] = field(default_factory=list)
    script: Script | None = None


def script_of(rng: Random) -> Script:
    """A whole chain: requests enter free slots, and right and wrong drafts mix in every step."""
    method: Method = rng.choice((*METHODS, "mtp", "hybrid"))
    drafts = 0 if method == "naive" else rng.randint(1, 4)
    script = Script(
        method,
        drafts,
        rng.randint(1, 4),
        layout=rng.choice(LAYOUTS),
        increment=rng.choice((0, 0, 4, 4 * drafts + 5)),
        max_infer_seed=rng.choice((GPU_SEEDS, XPU_SEEDS)),
        hit_at_limit=rng.random() < 0.5,
        verify="target_match" if method == "naive" else rng.choice(("top_p", "top_p", "target_match", "greedy")),
        candidates=rng.choice((1, 2, 3, 4, 6)),
        window=rng.choice((0, 1, 2)),
        update=rng.choice(UPDATES),
    )
    account = Account(script)
    taken: list[AnyStep] = []
    for _ in range(rng.randint(2, STEPS)):
        held = sorted(account.requests)
        news: list[AnyStep] = []
        if held and rng.random() < 0.05:
            news.append(Preempt(rng.choice(held)))
        else:
            news += _waits(rng, account)
        for slot in set(range(script.slots)) - set(held):
            if rng.random() < 0.5 or not (held or news):
                news.append(_insert(rng, script, slot))
        turns = {slot: _turn(rng, script, account.requests[slot].insert.top_p) for slot in held}
        news.append(Step({slot: turn for slot, turn in turns.items() if turn != Turn()}))
        for step in news:
            account.take(step)
        taken += news
    return replace(script, steps=tuple(taken))


def _waits(rng: Random, account: Account) -> list[AnyStep]:
    """Now and then a slot is blocked, for a step or a few, or until its request leaves."""
    steps: list[AnyStep] = []
    for slot, request in account.requests.items():
        if request.blocked and rng.random() < 0.4:
            steps.append(rng.choice((Resume, Resume, Preempt))(slot))
        elif request.decodes and not request.blocked and rng.random() < 0.08:
            steps.append(Block(slot))
    return steps


def _turn(rng: Random, script: Script, top_p: float) -> Turn:
    """Often all right, else right up to one of them; now and then fewer. For top-p any of them may be the model's
    second choice, and the first one mostly is where nothing but a window lets drafts pass."""
    drafts = {"mtp": script.drafts, "hybrid": rng.randint(0, (script.drafts + 1) // 2)}.get(script.method, 0)
    count = rng.choice((drafts, drafts, drafts, rng.randint(0, drafts)))
    right = rng.choice((count, count, rng.randint(0, count)))
    if script.verify != "top_p":
        return Turn(right, count - right)
    anywhere = tuple(place for place in range(count) if rng.random() < 0.3)
    window = 1 > top_p > reached(script.candidates)
    second = rng.choice(((0,), (0,), (0,), anywhere) if window else ((), anywhere))[:count]
    return Turn(right, count - right, second=second, uniform=rng.randint(0, 16) / 16)


def _said(text: list[int], more: int) -> list[int]:
    """A text and `more` tokens that the model says behind it."""
    said = list(text)
    for _ in range(more):
        said.append(choices(said)[0])
    return said


def _insert(rng: Random, script: Script, slot: int) -> Insert:
    """A request. Many prompts hold what the model will say, so that right drafts are found in them; stop sequences are
    of that, too, so that they strike."""
    words = [rng.choice(TEXT) for _ in range(rng.randint(1, 8))]
    if rng.random() < (0.8 if script.method in ("ngram", "hybrid") else 0.2):
        words = [*_said(words, 16), *words[-2:]]
    prompt, said = tuple(words), _said(words, 12)
    beyond = reached(script.candidates + 1)  # what the candidates do not reach
    stops = []
    for _ in range(rng.choice((0, 0, 1, STOPS))):
        start = rng.randrange(len(prompt), len(said))
        stops.append(tuple(said[start : start + rng.randint(1, STOP_TOKENS)]))
    return Insert(
        slot,
        prompt,
        max_dec=rng.choice((32, 32, 32, 32, 1, 2, 5, 11)),
        min_dec=rng.choice((0, 6, 30)),
        stops=tuple(stops),
        think=rng.choice((*[-1] * 10, 0, 1, 3, 6)),
        reply=rng.choice((*[-1] * 8, 0, 2, 5)),
        seed=rng.choice((-1, script.max_infer_seed - 1 - 4096 * slot)),
        top_p=rng.choice((0.5, 0.75, 0.75, 0.9, 1.0, *[beyond] * 2)) if script.verify == "top_p" else Insert.top_p,
        chunk=rng.choice((0, 0, rng.randint(1, len(prompt)))),
    )


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
    rng = Random(f"{steps.NAME}:{seed}")
    for _ in range(chains):
        script = script_of(rng)
        played = play(script, backend, driver=driver, world=world)
        outcome.executed += 1
        advance()
        outcome.rounds += played.rounds
        outcome.compared += played.compared
        outcome.accepted += played.accepted
        if played.findings:
            outcome.script, outcome.findings = script, played.findings
            break
    if outcome.script is not None:

        def again(candidate: Script) -> list[Finding]:
            return play(candidate, backend, driver=driver, world=world).findings

        shortest: tuple[Script, list[Finding]] = smallest(outcome.script, outcome.findings, again, simpler)
        outcome.script, outcome.findings = shortest
    return outcome
