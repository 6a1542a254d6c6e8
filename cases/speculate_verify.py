"""Inputs of speculate_verify: every mode, from no draft accepted to all, windows, end tokens, limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges, verify_rows
from opgold.cases.draft_rows import INT32, INT64, anything, noise, put, wider_rows, with_fault
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

ARGUMENTS = {
    "sampled_token_ids": "targets",
    "accept_tokens": "old_tokens",
    "accept_num": "old_lens",
    "step_idx": "step",
    "stop_flags": "stopped",
    "seq_lens_encoder": "enc",
    "draft_tokens": "tokens",
    "seq_lens_this_time": "this",
    "verify_tokens": "ids",
    "verify_scores": "scores",
    "max_dec_len": "limit",
    "end_tokens": "ends",
    "is_block_step": "blocked",
    "cu_seqlens_q_output": "starts",
    "actual_candidate_len": "lens",
    "topp": "topp",
    "reasoning_status": "reasoning",
    "uniforms": "uniforms",
    "verify_window": "window",
}
OPTIONAL = ("sampled_token_ids", "verify_tokens", "verify_scores", "actual_candidate_len", "uniforms")
OF_ROWS = OPTIONAL[:-1]
UNREAD = ("seq_lens_decoder", "actual_draft_token_nums")


def used(inputs: Arrays) -> tuple[str, ...]:
    """The optional inputs that a mode needs."""
    if inputs["use_target_sampling"]:
        return OPTIONAL[:1]
    return OPTIONAL[1:] if inputs["enable_topp"] else ("verify_tokens", "actual_candidate_len")


def accepted(inputs: Arrays, outputs: Arrays) -> list[tuple[int, int]]:
    """Drafts of each decoding slot that has some, and how many were accepted."""
    return verify_rows.accepted(inputs, np.asarray(outputs["accept_num"]))


@st.composite
def samples(draw: st.DrawFn, *, min_slots: int = 0) -> Sample:
    drawn = draw(verify_rows.rows(min_slots=min_slots))
    rng = draw(edges.seeds())
    slots = len(drawn["stopped"])
    mode = draw(st.sampled_from([*[""] * 8, "accept", "accept", "reject", "both"]))
    verified_by = draw(st.sampled_from(["listed", "listed", "listed", "sampled", "first", "sampled before first"]))
    inputs: dict[str, Any] = {name: drawn[source] for name, source in ARGUMENTS.items()}
    inputs["step_idx"] = np.where(drawn["step"] > 1000, INT64.max - 200, drawn["step"])
    inputs["max_dec_len"] = np.where(drawn["step"] > 1000, INT64.max - rng.integers(0, 200, slots), drawn["limit"])
    inputs |= {name: anything(rng, slots, INT32).astype(np.int32) for name in UNREAD}
    inputs |= {
        "max_seq_len": draw(st.sampled_from([0, 1, 8192])),
        "enable_topp": draw(st.booleans()),
        "benchmark_mode": mode in ("reject", "both"),
        "accept_all_drafts": mode in ("accept", "both"),
        "use_target_sampling": verified_by.startswith("sampled"),
        "use_topk": verified_by.endswith("first"),
        "prefill_one_step_stop": draw(st.sampled_from([False, False, False, True])),
    }
    if draw(st.booleans()):  # only what the mode needs
        for name in {*OPTIONAL} - {*used(inputs)}:
            del inputs[name]
    return Sample(inputs)


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values in live slots, inputs left out; or noise in every slot."""
    sample = draw(samples(min_slots=1))
    inputs = dict(sample.inputs)
    bsz, wanted = len(inputs["seq_lens_this_time"]), used(inputs)
    live = ~(inputs["stop_flags"] | inputs["is_block_step"])[:bsz]
    once, vectors = np.ones(1, bool), ["seq_lens_this_time", "cu_seqlens_q_output", "step_idx", "max_dec_len"]

    def chaos(_: int) -> dict[str, Any]:
        wild = noise(inputs, [*vectors, *({"actual_candidate_len"} & {*inputs})], draw(edges.seeds()))
        wild["seq_lens_this_time"][0], dead = -1, np.zeros(len(inputs["stop_flags"]), bool)
        return {**wild, "stop_flags": dead, "is_block_step": dead}

    faults = verify_rows.faults(inputs, live, ("draft_tokens", "accept_tokens"), draw)
    faults += [
        (once, chaos),
        (once, lambda _: {draw(st.sampled_from(wanted)): None}),
        (once, lambda _: {"verify_window": draw(st.sampled_from([-1, -(2**63)]))}),
        (once, lambda _: {name: inputs[name][: bsz - 1] for name in SLOTS_OF_ALL}),
        (live & (inputs["seq_lens_this_time"] > 0), lambda slot: put(inputs, "step_idx", slot, INT64.max)),
    ]
    if "uniforms" in wanted:
        faults += verify_rows.faults_of_candidates(inputs, live, ("verify_tokens", "verify_scores"), draw)
    return replace(sample, inputs=draw(with_fault(inputs, faults)))


SLOTS_OF_ALL = (
    *UNREAD,
    "accept_tokens",
    "accept_num",
    "step_idx",
    "stop_flags",
    "seq_lens_encoder",
    "draft_tokens",
    "max_dec_len",
    "is_block_step",
    "topp",
    "reasoning_status",
)

LAYOUT: Layout = {
    **{name: Leading(idle=name == "stop_flags") for name in SLOTS_OF_ALL},
    **{name: Packed(rows_of) for name in OF_ROWS},
    "seq_lens_this_time": PerSlot(),
    "cu_seqlens_q_output": Prefix(),
    "uniforms": PerSlot(),
}


def _more_rows(sample: Sample, extra: int) -> Sample:
    return replace(sample, inputs={**sample.inputs, **verify_rows.longer(sample.inputs, OF_ROWS, extra)})


def _unread(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Another max_seq_len, unused lengths, without what the mode does not need, other values of dead slots."""
    dropped = {name: None for name in OPTIONAL if name not in used(inputs)}
    lengths = {name: anything(rng, len(inputs[name])).astype(np.int32) for name in UNREAD}
    return {
        "max_seq_len": 77,
        **dropped,
        **lengths,
        **verify_rows.other_idle_slots(inputs, "draft_tokens", rng),
    }


def _single_candidates(sample: Sample, rng: np.random.Generator) -> Sample | None:
    """A sampled id is the only candidate of its row."""
    if not sample.inputs["use_target_sampling"]:
        return None
    sampled = np.asarray(sample.inputs["sampled_token_ids"])
    candidates = {
        "sampled_token_ids": None,
        "verify_tokens": sampled[:, None].copy(),
        "verify_scores": None,
        "actual_candidate_len": rng.integers(1, 3, len(sampled)).astype(np.int32),
    }
    modes = {"use_target_sampling": False, "use_topk": bool(rng.integers(0, 2)), "enable_topp": False}
    return replace(sample, inputs={**sample.inputs, **candidates, **modes})


def _one_step_stop() -> Relation:
    """To stop after one step changes flags alone: those of live slots that run tokens."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample:
        return replace(sample, inputs={**sample.inputs, "prefill_one_step_stop": True})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        stopped, bsz = np.array(outputs["stop_flags"]), len(np.asarray(sample.inputs["seq_lens_this_time"]))
        stopped[:bsz] |= (np.asarray(sample.inputs["seq_lens_this_time"]) > 0) & ~sample.inputs["is_block_step"][:bsz]
        return {**outputs, "stop_flags": stopped}

    return Relation("stop after one step", transform, expect)


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_this_time"),
    insert_idle_slots(LAYOUT, "seq_lens_this_time"),
    grow("more output rows", _more_rows, {}),
    wider_rows({}, ("draft_tokens", "accept_tokens")),
    unread("other values where nothing is read", _unread),
    Relation("a sampled id is a single candidate", _single_candidates, lambda sample, outputs, rng: outputs),
    _one_step_stop(),
)


def workload(batch: Batch) -> dict[str, Any]:
    """Ids sampled from the target: half of the slots accept all drafts, the others fewer."""
    drawn = verify_rows.step(batch)
    inputs = {name: drawn[source] for name, source in ARGUMENTS.items() if name not in OPTIONAL[1:]}
    inputs |= dict.fromkeys(UNREAD, batch.dec)
    names = ("enable_topp", "benchmark_mode", "accept_all_drafts", "use_topk", "prefill_one_step_stop")
    return {**inputs, "max_seq_len": 8192, "use_target_sampling": True, **dict.fromkeys(names, False)}


def workload_of_top_p(batch: Batch) -> dict[str, Any]:
    drawn = verify_rows.step(batch)
    candidates = {name: drawn[ARGUMENTS[name]] for name in OPTIONAL[1:]}
    return {**workload(batch), **candidates, "use_target_sampling": False, "enable_topp": True}


WORKLOADS = (
    Workload(verify_rows.MATCHING, workload, 4),
    Workload(verify_rows.TOP_P, workload_of_top_p, 8),
    Workload(verify_rows.TOP_P, workload_of_top_p, 30_000, "us"),
)
