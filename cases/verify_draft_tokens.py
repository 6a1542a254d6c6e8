"""Inputs of verify_draft_tokens: every strategy, from no draft accepted to all, windows, end tokens, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, verify_rows
from opgold.cases.draft_rows import noise, wider_rows, with_fault
from opgold.cases.output_rows import Leading, rows_of
from opgold.cases.relations import (
    Arrays,
    Layout,
    Packed,
    PerSlot,
    Prefix,
    Relation,
    grow,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.workload import Batch, Workload

TOP_P, GREEDY, TARGET_MATCH = range(3)
ARGUMENTS = {
    "step_output_ids": "old_tokens",
    "step_output_len": "old_lens",
    "step_input_ids": "tokens",
    "target_tokens": "targets",
    "candidate_ids": "ids",
    "candidate_scores": "scores",
    "candidate_lens": "lens",
    "topp": "topp",
    "stop_flags": "stopped",
    "seq_lens_encoder": "enc",
    "seq_lens_this_time": "this",
    "end_tokens": "ends",
    "is_block_step": "blocked",
    "cu_seqlens_q_output": "starts",
    "reasoning_status": "reasoning",
    "max_dec_len": "limit",
    "step_idx": "step",
    "uniforms": "uniforms",
    "verify_window": "window",
}
OF_CANDIDATES = ("candidate_ids", "candidate_scores", "candidate_lens", "uniforms")


def used(strategy: int) -> tuple[str, ...]:
    """The optional inputs that a strategy needs."""
    return OF_CANDIDATES if strategy == TOP_P else ("target_tokens",)


def accepted(inputs: Arrays, outputs: Arrays) -> list[tuple[int, int]]:
    """Drafts of each decoding slot that has some, and how many were accepted."""
    return verify_rows.accepted(inputs, np.asarray(outputs["step_output_len"]))


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    drawn = draw(verify_rows.rows(min_slots=min_slots))
    inputs: dict[str, Any] = {name: drawn[source] for name, source in ARGUMENTS.items()}
    strategy = draw(st.sampled_from([TOP_P, TOP_P, GREEDY, TARGET_MATCH]))
    if draw(st.booleans()):  # only what the strategy needs
        for name in {*OF_CANDIDATES, "target_tokens"} - {*used(strategy)}:
            del inputs[name]
    mode = draw(st.sampled_from([*[""] * 8, "accept", "accept", "reject", "both"]))
    return Sample(
        {
            **inputs,
            "max_seq_len": draw(st.sampled_from([0, 1, 8192])),
            "verify_strategy": strategy,
            "reject_all": mode in ("reject", "both"),
            "accept_all": mode in ("accept", "both"),
        }
    )


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in live slots, inputs left out, unknown strategies; or noise in every slot."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    bsz, strategy = len(inputs["seq_lens_this_time"]), inputs["verify_strategy"]
    live = ~(inputs["stop_flags"] | inputs["is_block_step"])[:bsz]
    once, vectors = np.ones(1, bool), ["seq_lens_this_time", "cu_seqlens_q_output", "step_idx", "max_dec_len"]

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, [*vectors, *({"candidate_lens"} & {*inputs})], draw(edges.seeds()))
        wild["seq_lens_this_time"][0], dead = -1, np.zeros(len(inputs["stop_flags"]), bool)
        return {**wild, "stop_flags": dead, "is_block_step": dead}

    def left_out(_: int) -> dict[str, Any]:
        return {draw(st.sampled_from(used(strategy))): None}

    faults = verify_rows.faults(inputs, live, ("step_input_ids", "step_output_ids"), draw)
    faults += [
        (once, chaos),
        (once, left_out),
        (once, lambda _: {"verify_strategy": draw(st.sampled_from([-1, 3, 2**40]))}),
        (once, lambda _: {"verify_window": draw(st.sampled_from([-1, -(2**63)]))}),
        (once, lambda _: {name: inputs[name][: bsz - 1] for name in ARGUMENTS if name in SLOTS_OF_ALL}),
    ]
    if strategy == TOP_P:
        faults += verify_rows.faults_of_candidates(inputs, live, ("candidate_ids", "candidate_scores"), draw)
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


SLOTS_OF_ALL = (
    "step_output_ids",
    "step_output_len",
    "step_input_ids",
    "topp",
    "stop_flags",
    "seq_lens_encoder",
    "is_block_step",
    "reasoning_status",
    "max_dec_len",
    "step_idx",
)

LAYOUT: Layout = {
    **{name: Leading(idle=name == "stop_flags") for name in SLOTS_OF_ALL},
    "target_tokens": Packed(rows_of),
    "candidate_ids": Packed(rows_of),
    "candidate_scores": Packed(rows_of),
    "candidate_lens": Packed(rows_of),
    "seq_lens_this_time": PerSlot(),
    "cu_seqlens_q_output": Prefix(),
    "uniforms": PerSlot(),
}


def _more_rows(sample: Sample, extra: int) -> Sample:
    return replace(sample, inputs={**sample.inputs, **verify_rows.longer(sample.inputs, OF_ROWS, extra)})


OF_ROWS = ("target_tokens", "candidate_ids", "candidate_scores", "candidate_lens")


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Another max_seq_len, without what the strategy does not need, other values of slots that are not live."""
    wanted = used(inputs["verify_strategy"])
    dropped: Mapping[str, Any] = {n: None for n in (*OF_CANDIDATES, "target_tokens") if n not in wanted}
    return {"max_seq_len": 77, **dropped, **verify_rows.other_idle_slots(inputs, "step_input_ids", rng)}


def _swapped(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """Greedy and target match differ in where targets come from."""
    strategy = sample.inputs["verify_strategy"]
    if strategy == TOP_P:
        return None
    return replace(sample, inputs={**sample.inputs, "verify_strategy": TARGET_MATCH + GREEDY - strategy})


def _single_candidates(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """A target is the only candidate of its row."""
    if sample.inputs["verify_strategy"] == TOP_P:
        return None
    targets = np.asarray(sample.inputs["target_tokens"])
    rows, bsz = len(targets), len(np.asarray(sample.inputs["seq_lens_this_time"]))
    candidates = {
        "candidate_ids": targets[:, None].copy(),
        "candidate_scores": rng.random((rows, 1), np.float32),
        "candidate_lens": rng.integers(1, 3, rows).astype(np.int32),
        "uniforms": rng.random(bsz, np.float32),
    }
    return replace(sample, inputs={**sample.inputs, **candidates, "verify_strategy": TOP_P})


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    grow("more output rows", _more_rows, {}),
    wider_rows({}, ("step_input_ids", "step_output_ids")),
    unread("other values where nothing is read", _unread),
    Relation("greedy is target match", _swapped, lambda sample, outputs, rng: outputs),
    Relation("a target is a single candidate", _single_candidates, lambda sample, outputs, rng: outputs),
)


def workload(batch: Batch) -> dict[str, Any]:
    """Target match: half of the slots accept all drafts, the others fewer."""
    drawn = verify_rows.step(batch)
    inputs = {name: drawn[source] for name, source in ARGUMENTS.items() if name not in OF_CANDIDATES}
    modes = {"verify_strategy": TARGET_MATCH, "max_seq_len": 8192, "reject_all": False, "accept_all": False}
    return {**inputs, **modes}


def workload_of_top_p(batch: Batch) -> dict[str, Any]:
    drawn = verify_rows.step(batch)
    return {**workload(batch), **{n: drawn[ARGUMENTS[n]] for n in OF_CANDIDATES}, "verify_strategy": TOP_P}


WORKLOADS = (
    Workload(verify_rows.MATCHING, workload, 4),
    Workload(verify_rows.TOP_P, workload_of_top_p, 8),
    Workload(verify_rows.TOP_P, workload_of_top_p, 30_000, "us"),
)
