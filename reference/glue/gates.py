"""When a step replays a graph, and what the mixture of experts is told. Source: the Python glue, section 4.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class GraphConfig:
    """The options that decide over graphs, with FastDeploy's names; graphs of the draft are off unless asked for."""

    use_cudagraph: bool
    cudagraph_only_prefill: bool = False
    draft_model_use_cudagraph: bool = False


def prefill_role(config: GraphConfig) -> GraphConfig:
    """The options of an instance that only prefills: graphs exactly where prefill is captured."""
    return GraphConfig(config.cudagraph_only_prefill, config.cudagraph_only_prefill, config.draft_model_use_cudagraph)


def target_replays(
    config: GraphConfig, has_prefill: Sequence[bool], tokens: int, *, only_prefill: bool = False, capturing: bool = True
) -> bool:
    """Whether the target runs by a graph.

    `has_prefill` says of every expert-parallel rank whether its batch has a prompt chunk; `only_prefill`, whether this
    batch is of prompts alone, which is what counts under `cudagraph_only_prefill`, speculative or not. `capturing` is
    false in a dummy run that captures nothing. Raises ValueError for no rank.
    """
    if not has_prefill:
        raise ValueError("has_prefill: is empty, expected one entry a rank")
    if config.cudagraph_only_prefill:
        return config.use_cudagraph and only_prefill
    return config.use_cudagraph and not any(has_prefill) and tokens > 0 and capturing


def draft_replays(config: GraphConfig, target: bool, substep: int, *, dummy: bool = False) -> bool:
    """Whether a substep of the draft model runs by a graph: where the target does. Only substep 0 is captured, so in a
    dummy run later ones do not."""
    return target and config.draft_model_use_cudagraph and not (dummy and substep > 0)


def moe_phase(only_decodes: Sequence[bool]) -> str:
    """The phase that both models are told each step with expert parallelism and a mixed role: "decode" if every rank
    only decodes, else "prefill". Raises ValueError for no rank."""
    if not only_decodes:
        raise ValueError("only_decodes: is empty, expected one entry a rank")
    return "decode" if all(only_decodes) else "prefill"
