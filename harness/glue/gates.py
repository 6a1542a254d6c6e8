"""Do target and draft run by graphs exactly where they should, and do both know the phase?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from opgold.harness.glue.departure import Departure
from opgold.reference.glue import gates
from opgold.reference.glue.gates import GraphConfig

BOOLS = (False, True)


def check_target_gate(replays: Callable[..., bool]) -> list[Departure]:
    """Does `replays(config, has_prefill, tokens, only_prefill=, capturing=)` decide as it should, for all options, two
    ranks with and without a prompt chunk, with and without tokens?"""
    found = []
    configs = [GraphConfig(*options) for options in itertools.product(BOOLS, BOOLS)]
    ranks = list(itertools.product(BOOLS, BOOLS))
    for config, prefill, tokens, only, capturing in itertools.product(configs, ranks, (0, 5), BOOLS, BOOLS):
        if only and not (prefill[0] and tokens):
            continue  # a batch of prompts alone has one, and tokens
        keywords = {"only_prefill": only, "capturing": capturing}
        want = gates.target_replays(config, prefill, tokens, **keywords)
        got = replays(config, prefill, tokens, **keywords)
        if bool(got) != want:
            said = f"{config}, has_prefill {list(prefill)}, tokens {tokens}, only_prefill {only}, capturing {capturing}"
            found.append(Departure("target", f"{bool(got)}, expected {want}: {said}"))
    return found


def check_draft_gate(replays: Callable[..., bool]) -> list[Departure]:
    """Does `replays(config, target, substep, dummy=)` decide as it should, for all options and substeps 0 to 2?"""
    found = []
    for draft, target, dummy, substep in itertools.product(BOOLS, BOOLS, BOOLS, range(3)):
        config = GraphConfig(use_cudagraph=True, draft_model_use_cudagraph=draft)
        want = gates.draft_replays(config, target, substep, dummy=dummy)
        got = replays(config, target, substep, dummy=dummy)
        if bool(got) != want:
            said = f"draft_model_use_cudagraph {draft}, target {target}, substep {substep}, dummy {dummy}"
            found.append(Departure("draft", f"{bool(got)}, expected {want}: {said}"))
    return found


def check_moe_phase(phases: Mapping[str, str], only_decodes: Sequence[bool]) -> list[Departure]:
    """Are all models told the phase? `phases` has what the target and the proposer have, by any names; `only_decodes`
    says of each rank whether it only decodes."""
    want = gates.moe_phase(only_decodes)
    return [
        Departure(f"moe_phase of {name}", f"{phase!r}, expected {want!r}")
        for name, phase in phases.items()
        if phase != want
    ]
