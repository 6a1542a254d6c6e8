"""What must hold after every op of a step, read off the account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from opgold.harness.calls import Violation
from opgold.harness.steps.account import Share
from opgold.harness.steps.request import FIRST_ANSWER, Request
from opgold.harness.steps.toy import END_IDS, NEVER, SUPPRESSED
from opgold.harness.steps.world import World


def after_recover(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """Slots of this step run, with all that they have run before cached; blocked ones do not."""
    for share in shares:
        waits = share.state == "blocked"
        for name, wanted, got in (
            ("stop_flags", waits, bool(world.stop[share.slot])),
            ("is_block_step", waits, bool(world.blocked[share.slot])),
            ("seq_lens_decoder", 0 if waits else share.cached, int(world.dec[share.slot])),
        ):
            if wanted != got:
                yield Violation("slots run unless they are blocked", share, name, wanted, got)


def after_match(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """Drafts are what followed in the text that the slot has emitted or was given."""
    for share in shares:
        if share.state == "decode":
            got = world.tokens[share.slot, 1 : max(1, world.this[share.slot])].tolist()
            if got != share.drafts:
                yield Violation("drafts follow from the slot's own text", share, "draft_tokens", share.drafts, got)


def after_pack(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """The target runs a chunk of the prompt, or the last token that was emitted and the drafts."""
    ids, starts = world.packed["ids_remove_padding"], world.packed["cu_seqlens_q"]
    for share in shares:
        got = ids[starts[share.slot] : starts[share.slot + 1]].tolist()
        if got != share.inputs:
            yield Violation("the target runs these tokens", share, "ids_remove_padding", share.inputs, got)


def after_seed(world: World, shares: list[Share], seeds: np.ndarray) -> Iterator[Violation]:
    """Rows of a step have seeds of their own, and so have a slot's consecutive steps, unless the increment or the
    requests' first seeds do not allow it; and every step advances a slot's seed once."""
    starts = world.packed["cu_seqlens_q_output"]
    used = {share.slot: seeds[starts[share.slot] : starts[share.slot + 1], 0].tolist() for share in shares}
    for share in shares:
        others = [seed for other in shares for seed in other.seeds]
        mine = used[share.slot]
        everyone = [seed for slot in used for seed in used[slot]]
        if _distinct(others) and any(everyone.count(seed) > 1 for seed in mine):
            yield Violation("no two rows of a step share a seed", share, "topp_seed", share.seeds, mine)
        if not set(share.seeds) & set(share.seeds_before) and set(mine) & set(share.seeds_before):
            yield Violation("no two consecutive steps share a seed", share, "topp_seed", share.seeds, mine)
        if mine != share.seeds:
            yield Violation("a row's seed is its slot's and four a row", share, "topp_seed", share.seeds, mine)
        if share.turn.seeds is not None and mine != list(share.turn.seeds):
            rule = "the seeds are those that the sequence gives"
            yield Violation(rule, share, "topp_seed", list(share.turn.seeds), mine)
        wanted, got = share.request.seed, int(world.seeds[share.slot])
        if wanted != got:
            yield Violation("a step advances a slot's seed once", share, "infer_seed", wanted, got)


def _distinct(values: list[int]) -> bool:
    return len(set(values)) == len(values)


def after_penalty(world: World, shares: Iterable[Share], before: np.ndarray) -> Iterator[Violation]:
    """Every token that the slot has emitted was counted, and no other."""
    for share, first, place in _rows(world, shares):
        expected = before[first + place].copy()
        for token in share.history:
            expected[token] -= 1
        if len(share.history) + place < share.request.insert.min_dec:
            expected[list(END_IDS)] = SUPPRESSED
        got = world.logits[first + place]
        if not np.array_equal(expected, got):
            rule = f"row {place} counts the tokens that were emitted"
            yield Violation(rule, share, "logits", expected.tolist(), got.tolist())


def after_reason(world: World, shares: list[Share], before: np.ndarray) -> Iterator[Violation]:
    """Reasoning is where the last tokens put it; the first answer keeps to what is allowed."""
    for share in shares:
        status = int(world.reasoning[share.slot])
        if status != share.reasoning:
            rule = "reasoning is where the last tokens put it"
            yield Violation(rule, share, "reasoning_status", share.reasoning, status)
    for share, first, place in _rows(world, shares):
        expected = before[first + place].copy()
        if place == 0 and share.reasoning == FIRST_ANSWER:
            expected[NEVER] = SUPPRESSED
        got = world.logits[first + place]
        if not np.array_equal(expected, got):
            rule = f"row {place} is held to what is allowed"
            yield Violation(rule, share, "logits", expected.tolist(), got.tolist())


def _rows(world: World, shares: Iterable[Share]) -> Iterator[tuple[Share, int, int]]:
    """Every output row of the shares: the share, its first row and the row's place behind it."""
    for share in shares:
        for place in range(share.rows):
            yield share, int(world.packed["cu_seqlens_q_output"][share.slot]), place


def after_candidates(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """Each row lists the tokens that the model would say, the likeliest first."""
    for share, first, place in _rows(world, shares):
        ids, length = share.candidates[place]
        listed, count = (world.listed[name][first + place] for name in ("verify_tokens", "actual_candidate_lens"))
        if (ids, length) != (listed.tolist(), count):
            rule = f"row {place} lists its likeliest tokens"
            yield Violation(rule, share, "verify_tokens", (ids, length), (listed.tolist(), int(count)))


def after_verify(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """Plain decoding's own tokens, as far as the drafts are right, and one more; of top-p, drafts as far as they are
    candidates, and one candidate more."""
    yield from _accepted(world, shares, "verified", "the tokens as far as drafts may stand, and one more")


def after_cut(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """The end stands behind the first stop sequence."""
    yield from _accepted(world, shares, "cut", "an end token stands behind the first stop sequence")


def after_limit(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """The op's own count of tokens loses what it takes off."""
    for share in shares:
        wanted = int(world.step[share.slot]) + int(world.accept_num[share.slot])
        got = int(world.counted[share.slot])
        if got != wanted:
            yield Violation("the step counts what is left", share, "step_idx", wanted, got)


def after_update(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """What was emitted is what plain decoding emits, and history, counts and the next input say so."""
    shares = list(shares)
    yield from _accepted(world, shares, "emitted", "what plain decoding emits")
    for share in shares:
        yield from _state(world, share.request, share)
    running = any(share.runs_on for share in shares)
    if world.script.update == "unified" and bool(world.running[0]) != running:
        yield Violation("the flag tells whether a slot runs on", None, "has_running_seqs", running, not running)


def after_legacy_update(world: World, shares: list[Share]) -> Iterator[Violation]:
    """What was emitted is what plain decoding emits; it is cached, and the other tokens that ran are rolled back. A
    slot that ends rolls nothing back, and its cached length stays."""
    yield from _accepted(world, shares, "emitted", "what plain decoding emits")
    for share in shares:
        if share.state == "blocked":
            continue
        decodes, ended = share.state == "decode", share.request.ended
        cached = share.cached if decodes and ended else share.request.cached
        rollback = share.rows - len(share.emitted) if decodes and not ended else 0
        for name, wanted, got in (
            ("seq_lens_decoder", cached, int(world.dec[share.slot])),
            ("mask_rollback", rollback, int(world.rollback[share.slot])),
            ("draft_tokens", share.emitted[-1], int(world.tokens[share.slot, 0])),
        ):
            if wanted != got:
                yield Violation("what is emitted is cached, the rest rolled back", share, name, wanted, got)
    running = any(share.runs_on or share.state == "blocked" for share in shares)
    if bool(world.not_need_stop[0]) != running:
        yield Violation("the flag tells whether a slot runs on or waits", None, "not_need_stop", running, not running)


def after_write(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """History without prompts holds what every slot has emitted that runs on or waits."""
    for share in shares:
        emitted = share.request.emitted
        row = [*[-1] * world.script.layout, *emitted]
        row += [-1] * (world.script.max_len - len(row))
        got = world.emitted[share.slot].tolist()
        if not share.request.ended and row != got:
            yield Violation("history holds the tokens emitted so far", share, "pre_ids", row, got)


def after_schedule(world: World, shares: Iterable[Share], requests: Iterable[Request]) -> Iterator[Violation]:
    """What was sampled before a prompt's end is taken back; all else stays, also what slots have that did not run."""
    shares = list(shares)
    yield from _accepted(world, shares, "delivered", "what a prompt's last chunk and decoding emit, and nothing else")
    for share in shares:
        literal = share.turn.emits
        if literal is not None and list(literal) != share.delivered:
            rule = "the tokens are those that the sequence gives"
            yield Violation(rule, share, "accept_tokens", list(literal), share.delivered)
    yield from kept(world, requests)
    running = any(share.runs_on and share.state != "chunk" for share in shares)
    if bool(world.not_need_stop[0]) != running:
        yield Violation("the flag tells whether a slot runs on", None, "not_need_stop", running, not running)


def kept(world: World, requests: Iterable[Request]) -> Iterator[Violation]:
    """Between steps a slot has all that its request's next step needs; a blocked one in what was saved of it."""
    for request in requests:
        slot = request.insert.slot
        if request.decodes:
            yield from _state(world, request, request)
        else:
            lengths = [int(of[slot]) for of in (world.this, world.enc, world.dec)]
            if not world.stop[slot] or any(lengths):
                rule = "a prompt that goes on waits for its next chunk"
                yield Violation(rule, request, "stop_flags", (True, [0, 0, 0]), (bool(world.stop[slot]), lengths))
        if bool(world.blocked[slot]) != request.waits:
            rule = "slots without a cache block are marked, and no others"
            yield Violation(rule, request, "is_block_step", request.waits, not request.waits)
        if request.waits and request.cached != (saved := int(world.kept_dec[slot])):
            rule = "a blocked slot's cached length is saved"
            yield Violation(rule, request, "step_seq_lens_decoder", request.cached, saved)


def _state(world: World, request: Request, share: object) -> Iterator[Violation]:
    """History, counts, flags and the next input are those of what the request has emitted so far."""
    slot, emitted, cached = request.insert.slot, request.emitted, 0 if request.waits else request.cached
    row = [*request.insert.prompt, *[-1] * world.script.layout, *emitted]
    row += [-1] * (world.script.max_len - len(row))
    left = request.ended and world.script.update == "legacy"  # its history and cached length stay as they were
    for name, wanted, got in (
        ("token_ids_all", row, row if left else world.history[slot].tolist()),
        ("step_idx", len(emitted), int(world.step[slot])),
        ("stop_flags", request.ended or request.waits, bool(world.stop[slot])),
        ("seq_lens_encoder", 0, int(world.enc[slot])),
        ("seq_lens_decoder", cached, cached if left else int(world.dec[slot])),
        ("step_input_ids", emitted[-1], int(world.tokens[slot, 0])),
    ):
        if wanted != got:
            yield Violation("state is that of the tokens emitted so far", share, name, wanted, got)


def _accepted(world: World, shares: Iterable[Share], part: str, rule: str) -> Iterator[Violation]:
    for share in shares:
        wanted = getattr(share, part)
        got = world.accepted[share.slot, : max(0, world.accept_num[share.slot])].tolist()
        if wanted != got:
            yield Violation(rule, share, "accept_tokens", wanted, got)
