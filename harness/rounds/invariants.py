"""What must hold after every op of a round, read off the account. I1 to I4 are those of the mask rollback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from opgold.harness.calls import Violation
from opgold.harness.rounds.account import Share
from opgold.harness.rounds.world import World


def after_preprocess(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """I3: the draft goes back to what the target has cached, less what it accepted, and runs that again."""
    draft, script = world.draft, world.script
    any_live = False
    for share in shares:
        slot = share.slot
        any_live |= share.live
        expected: list[tuple[str, Any, Any]] = [
            ("stop_flags", not share.live, bool(draft.stop[slot])),
            ("seq_lens_this_time", share.rows, int(draft.this[slot])),
        ]
        if share.live:
            expected.append(("seq_lens_decoder", share.position(0), int(draft.dec[slot])))
        if share.live and share.state == "decode":
            expected.append(("step_idx", share.produced - share.rows, int(draft.step[slot])))
        if share.state == "blocked" and script.stateful:
            expected.append(("is_block_step", script.scheduler == "v1", bool(draft.block[slot])))
            expected.append(("batch_drop", script.scheduler == "v0", bool(world.drop[slot])))
        for name, wanted, got in expected:
            if wanted != got:
                yield Violation("I3: a round starts from what the target has accepted", share, name, wanted, got)
    if bool(world.not_need_stop[0]) != any_live:
        yield Violation("the flag tells whether the draft runs", None, "not_need_stop", any_live, not any_live)


def after_pack(world: World, shares: Iterable[Share], substep: int) -> Iterator[Violation]:
    """The draft runs the tokens that were accepted, then its own. Then I1: the mask base is where they start."""
    ids, starts, draft = world.packed["ids_remove_padding"], world.packed["cu_seqlens_q"], world.draft
    for share in shares:
        slot = share.slot
        wanted = share.inputs[substep] if share.live else []
        got = ids[starts[slot] : starts[slot + 1]].tolist()
        if wanted != got:
            yield Violation("the draft runs these tokens", share, "ids_remove_padding", wanted, got)
        if wanted and world.script.stateful and draft.enc[slot] == 0:
            wanted_base = share.position(substep) + share.insert.delta
            base = int(world.mask_base[slot]) - int(world.rollback[slot])
            if wanted_base != base:
                rule = "I1: the mask base, rolled back, is the draft's cached length"
                yield Violation(rule, share, "attn_mask_offsets_decoder - mask_rollback", wanted_base, base)


def after_mask(world: World, shares: Iterable[Share], substep: int) -> Iterator[Violation]:
    """I4: every token sees up to itself; and the ends that a person wrote down are seen."""
    starts = world.packed["cu_seqlens_q"]
    for share in shares:
        wanted = share.mask_ends(substep) if share.live else []
        tokens = slice(2 * int(starts[share.slot]), 2 * int(starts[share.slot + 1]))
        seen = world.ends[tokens].tolist()
        if [0] * len(wanted) != seen[::2] or wanted != seen[1::2]:
            yield Violation("I4: each token sees up to itself", share, "attn_mask_offsets", wanted, seen[1::2])
        if share.ends is not None and list(share.ends[substep]) != seen[1::2]:
            rule = "the ends are those that the sequence gives"
            yield Violation(rule, share, "attn_mask_offsets", list(share.ends[substep]), seen[1::2])


def after_update(world: World, shares: Iterable[Share], substep: int) -> Iterator[Violation]:
    """I2: the cached length has moved by what ran, the mask base with it, and nothing is left to roll back."""
    draft, script = world.draft, world.script
    going_on = False
    for share in shares:
        slot = share.slot
        running = share.live and share.going_on[substep]
        going_on |= running
        expected = [("seq_lens_this_time", int(running), int(draft.this[slot]))]
        if share.live and share.inputs[substep]:
            token = share.drafted[substep]
            position = share.position(substep) + (0 if token is None else len(share.runs[substep]))
            expected.append(("seq_lens_decoder", position, int(draft.dec[slot])))
            drafted = -1 if token is None else token
            expected.append(("base_model_draft_tokens", drafted, int(world.target.tokens[slot, substep + 1])))
            if script.stateful:
                base = position + share.insert.delta
                expected.append(("attn_mask_offsets_decoder", base, int(world.mask_base[slot])))
                expected.append(("mask_rollback", 0, int(world.rollback[slot])))
        for name, wanted, got in expected:
            if wanted != got:
                yield Violation("I2: cached length and mask base move together", share, name, wanted, got)
    # the packed form tells whether a row ran, not whether one goes on; in it none stops by itself
    if bool(world.not_need_stop[0]) != going_on:
        yield Violation("the flag tells whether the draft goes on", None, "not_need_stop", going_on, not going_on)


def after_postprocess(world: World, shares: Iterable[Share]) -> Iterator[Violation]:
    """The target's next step runs its last token and the drafts that were produced."""
    target = world.target
    for share in shares:
        slot = share.slot
        waiting = share.stopped or share.state == "blocked"
        wanted = 0 if waiting else 1 + share.drafts
        if wanted != target.this[slot]:
            rule = "the target verifies the drafts that were produced"
            yield Violation(rule, share, "base_model_seq_lens_this_time", wanted, int(target.this[slot]))
        if waiting:
            continue
        tokens = [share.accepted[-1], *(-1 if token is None else token for token in share.drafted)]
        row = target.tokens[slot, : len(tokens)].tolist()
        if tokens != row:
            yield Violation("the target gets these drafts", share, "base_model_draft_tokens", tokens, row)
