"""Inputs of get_infer_param: mixed batches, cached prefixes, block tables with gaps, buffers longer than the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opgold.cases import edges
from opgold.cases.hidden import with_value
from opgold.cases.relations import (
    INSERTED,
    Arrays,
    Layout,
    PerSlot,
    Relation,
    Whole,
    holds,
    insert_idle_slots,
    permute_slots,
    unread,
)
from opgold.cases.sample import Sample
from opgold.cases.slots import ORDINARY, State, batches
from opgold.cases.split_batches import ByClass, Listed, Summed, of_lengths
from opgold.cases.workload import SLOTS, Batch, index_op
from opgold.reference.adjust_batch import adjust_batch

LISTS = (
    "encoder_batch_map",
    "decoder_batch_map",
    "encoder_batch_idx",
    "decoder_batch_idx",
    "prefix_len",
    "decoder_context_len",
    "decoder_context_len_cache",
)
SUMS = ("encoder_seq_lod", "decoder_seq_lod", "encoder_kv_lod")
LENGTHS = ("seq_lens_encoder", "seq_lens_decoder", "seq_lens_this_time")
HUGE = 2**31 - 1


@st.composite
def samples(draw: st.DrawFn, *, states: Sequence[State] = ORDINARY, min_slots: int = 0) -> Sample:
    batch = draw(batches(states, min_slots=min_slots))
    rng = draw(edges.seeds())
    block_size = draw(st.sampled_from([1, 2, 3, 4, 7, 16, 64, HUGE, 2**40]))
    splices = {"encoder_splice": draw(st.booleans()), "decoder_splice": draw(st.booleans())}
    last = HUGE - batch.this  # the highest context length
    far = (batch.enc == 0) & (batch.this > 0) & (rng.random(batch.bsz) < 0.1)
    far &= block_size >= HUGE or not splices["decoder_splice"]
    dec = np.where(far, last, batch.dec).astype(np.int32)
    inputs: dict[str, Any] = {
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": dec,
        "seq_lens_this_time": batch.this,
        "block_size": block_size,
        **splices,
    }
    ends = np.where(far & (block_size < HUGE), 0, dec.astype(np.int64) + batch.this)
    columns = int((-(-ends // block_size)).max(initial=0)) + draw(st.sampled_from([0, 0, 1, 3]))
    shape = (batch.bsz + draw(st.sampled_from([0, 0, 2])), columns)
    inputs["block_tables"] = _blocks(rng, shape, block_size)
    inputs["block_tables"][rng.random(shape) < 0.2] = -1
    inputs["block_tables"] = np.where(_mapped(inputs), _blocks(rng, shape, block_size), inputs["block_tables"])
    split = of_lengths(inputs)
    tokens = split.rows[split.decode]
    fewest = max(0, -(-int(tokens.sum()) // max(1, batch.bsz)) - 1) if splices["decoder_splice"] else 0
    inputs["num_speculative_tokens"] = max(fewest, draw(st.sampled_from([0, int(tokens.max(initial=1)) - 1, 7])))
    table = draw(st.sampled_from([shape, (1, int(split.prompt.sum()) * _stride(inputs) + draw(st.integers(0, 9)))]))
    slots = batch.bsz + draw(st.sampled_from([0, 0, 1, 40]))
    return Sample({**inputs, **_buffers(rng, slots, slots + 1 + draw(st.integers(0, 1)), table)})


@st.composite
def hostile(draw: st.DrawFn) -> Sample:
    """Right shapes, wrong values: lengths of no slot state, short buffers, tables that do not hold the tokens."""
    sample = draw(samples(states=(State.DECODE, State.PREFILL, State.CHUNK), min_slots=1))
    inputs: dict[str, Any] = {**sample.inputs}
    split = of_lengths(inputs)
    slot = draw(st.integers(0, len(split.rows) - 1))
    natural = int(split.rows[split.prompt].sum())
    inside = np.argwhere(_mapped({**inputs, "encoder_splice": True, "decoder_splice": True}))
    faults = ["length", "state", "block size", "drafts", "short"] + ["places"] * (natural > 0)
    faults += ["block"] * 2 * (len(inside) > 0) + ["tokens"] * bool(split.decode.any())
    fault = draw(st.sampled_from(faults))
    kept = {"prompt_tokens": natural}  # whatever the lengths become
    if fault == "length":
        inputs = draw(with_value(inputs, draw(st.sampled_from(LENGTHS)), slot, list(edges.INT32[:2])))
    elif fault == "state":
        lengths = draw(st.sampled_from([(0, 0, 1), (2, 0, 0), (2, 5, 3), (HUGE, 0, 1), (0, HUGE, 1), (3, HUGE, 3)]))
        for name, value in zip(LENGTHS, lengths, strict=True):
            inputs = draw(with_value(inputs, name, slot, [value]))
    elif fault == "block size":
        inputs["block_size"] = draw(st.sampled_from([0, -1, edges.INT32[0]]))
    elif fault == "drafts":
        inputs["num_speculative_tokens"] = -1
    elif fault == "short":
        inputs |= draw(_shortened(inputs))
    elif fault == "places":
        kept = {"prompt_tokens": draw(st.integers(0, natural - 1))}
    elif fault == "block":
        row, column = (int(i) for i in inside[draw(st.integers(0, len(inside) - 1))])
        blocks = [-1, edges.INT32[0]] + [HUGE] * (inputs["block_size"] > 1)
        inputs["block_tables"][row, column] = draw(st.sampled_from(blocks))
        inputs |= {"encoder_splice": True, "decoder_splice": True, "num_speculative_tokens": 200}
    else:
        tokens = int(split.rows[split.decode].sum()) + len(split.rows)
        inputs = draw(with_value(inputs, "seq_lens_this_time", int(np.flatnonzero(split.decode)[0]), [tokens]))
        inputs |= {"decoder_splice": True, "num_speculative_tokens": 0}
    return replace(sample, inputs=inputs, sizes=kept)


@st.composite
def _shortened(draw: st.DrawFn, inputs: Arrays) -> dict[str, Any]:
    """Buffers with less room than a batch with slots needs, or block tables without room for its longest chunk."""
    chunks, stride = of_lengths(inputs).prompt, _stride(inputs)

    def cut(names: Sequence[str], length: int) -> dict[str, Any]:
        return {name + copy: inputs[name + copy][:length] for name in names for copy in ("", "_cpu")}

    faults = [cut(LISTS, len(chunks) - 1), cut(SUMS, len(chunks))]
    faults.append({"block_tables": inputs["block_tables"][: len(chunks) - 1]})
    if stride:
        faults.append({"block_tables": inputs["block_tables"][:, : stride - 1].copy()})
        fewer = inputs["prefix_block_tables"].reshape(1, -1)[:, : int(chunks.sum()) * stride - 1]
        faults.append({"prefix_block_tables": fewer.copy()})
    return faults[draw(st.integers(0, len(faults) - 1))]


def _blocks(rng: np.random.Generator, shape: tuple[int, int], block_size: int) -> np.ndarray:
    """Block ids, no two alike as far as there are enough whose places fit int32."""
    most = (HUGE - (min(block_size, HUGE) - 1)) // block_size
    count = shape[0] * shape[1]
    first = int(rng.integers(0, max(1, most - count)))
    return ((first + rng.permutation(count)) % (most + 1)).astype(np.int32).reshape(shape)


def _mapped(inputs: Arrays) -> np.ndarray:
    """Which cells of the block tables a token's place is taken from."""
    split, size = of_lengths(inputs), inputs["block_size"]
    dec = np.asarray(inputs["seq_lens_decoder"]).astype(np.int64)
    encoder, decoder = (inputs.get(f"{name}_splice", False) for name in ("encoder", "decoder"))
    wanted = (split.prompt & encoder) | (split.decode & decoder)
    first, last = dec // size, (dec + split.rows - 1) // size
    columns = np.arange(inputs["block_tables"].shape[1])
    mapped = wanted[:, None] & (columns >= first[:, None]) & (columns <= last[:, None])
    return np.pad(mapped, ((0, len(inputs["block_tables"]) - len(dec)), (0, 0)))


def _stride(inputs: Arrays) -> int:
    """Blocks of the longest prompt chunk and its cached tokens."""
    chunks = of_lengths(inputs).prompt
    ends = (np.asarray(inputs["seq_lens_decoder"]).astype(np.int64) + inputs["seq_lens_encoder"])[chunks]
    return int((-(-ends // inputs["block_size"])).max(initial=0))


def _buffers(rng: np.random.Generator, slots: int, sums: int, table: tuple[int, int]) -> dict[str, Any]:
    """What is written in place, holding anything."""
    shapes: dict[str, Any] = {"prefix_block_tables": table, "len_info_cpu": 7}
    for copy in ("", "_cpu"):
        shapes |= {name + copy: slots for name in LISTS} | {name + copy: sums for name in SUMS}
    return {name: rng.integers(-(2**31), 2**31, shape).astype(np.int32) for name, shape in shapes.items()}


class PrefixBlocks:
    """The rows of all prompt chunks, one after the other whatever the shape; then what stands behind them."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        chunks = of_lengths(inputs).members("encoder")
        new = [int(np.searchsorted(chunks, old)) for old in order if old in chunks]
        flat, used = array.reshape(-1), len(chunks) * _stride(inputs)
        rows = flat[:used].reshape(len(chunks), -1) if used else flat[:0].reshape(len(chunks), 0)
        return np.concatenate([rows[new].reshape(-1), flat[used:]]).reshape(array.shape)


class DecodePlaces:
    """The places of decode slots' tokens, slot after slot; room for as many in each slot, which may be none."""

    def reorder(self, array: np.ndarray, order: Sequence[int], inputs: Arrays) -> np.ndarray:
        more = np.full(order.count(INSERTED) * (1 + inputs["num_speculative_tokens"]), -1, array.dtype)
        asked = inputs.get("decoder_splice", False)
        places = ByClass(of_lengths, ("decoder",)).reorder(array, order, inputs) if asked else array
        return np.concatenate([places, more])


def _layout() -> Layout:
    axes: dict[str, Any] = {name: PerSlot() for name in LENGTHS}
    for copy in ("", "_cpu"):
        for name in LISTS:
            group = "encoder" if name.startswith(("encoder", "prefix")) else "decoder"
            says: Any = {"map": "number", "idx": "rank"}.get(name.rpartition("_")[2])
            axes[name + copy] = Listed(group, of_lengths, says)
        for name in SUMS:
            group = name.partition("_")[0]
            axes[name + copy] = Summed(group, of_lengths, repeated=group == "decoder")
    return axes | {
        "block_tables": PerSlot(),
        "prefix_block_tables": PrefixBlocks(),
        "len_info_cpu": Whole(),
        "slot_mapping_enc": ByClass(of_lengths, ("encoder",)),
        "slot_mapping_dec": DecodePlaces(),
    }


LAYOUT: Layout = _layout()


def _room_for_idle_slots(relation: Relation) -> Relation:
    """The relation, on buffers with room for more slots."""

    def grown(arrays: Arrays) -> dict[str, Any]:
        names = [name + copy for name in (*LISTS, *SUMS) for copy in ("", "_cpu")]
        return {**arrays, **{name: np.append(arrays[name], [7, 8, 9]).astype(np.int32) for name in names}}

    def roomy(sample: Sample) -> Sample:
        return replace(sample, inputs=grown(sample.inputs))

    return Relation(
        relation.name,
        lambda sample, rng: relation.transform(roomy(sample), rng),
        lambda sample, outputs, rng: relation.expect(roomy(sample), grown(outputs), rng),
    )


def _other_contents(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Other values in the written parts of all buffers."""
    bsz, changed = len(inputs["seq_lens_encoder"]), {}
    for copy in ("", "_cpu"):
        for name, count in (*((name, bsz) for name in LISTS), *((name, bsz + 1) for name in SUMS)):
            changed[name + copy] = np.append(rng.integers(0, 99, count), inputs[name + copy][count:]).astype(np.int32)
    table = np.array(inputs["prefix_block_tables"])
    used = len(of_lengths(inputs).members("encoder")) * _stride(inputs)
    table.reshape(-1)[:used] = rng.integers(0, 99, used)
    return changed | {"prefix_block_tables": table, "len_info_cpu": rng.integers(0, 99, 7).astype(np.int32)}


def _other_blocks(inputs: Arrays, rng: np.random.Generator) -> Arrays | None:
    """Other blocks where neither a place nor a prefix is taken from."""
    used = _mapped(inputs)
    split, size = of_lengths(inputs), inputs["block_size"]
    ends = np.asarray(inputs["seq_lens_decoder"]).astype(np.int64) + split.rows
    listed = split.prompt[:, None] & (np.arange(used.shape[1]) * size < ends[:, None])
    used[: len(listed)] |= listed
    other = rng.integers(-(2**31), 2**31, used.shape)
    return {"block_tables": np.where(used, inputs["block_tables"], other).astype(np.int32)}


def _blocks_renamed() -> Relation:
    """Every block's id less by 1: places less by the block size, in the prefix tables ids less by 1."""

    def transform(sample: Sample, rng: np.random.Generator) -> Sample | None:
        tables = np.asarray(sample.inputs["block_tables"])
        if np.any(tables == 0):
            return None
        return replace(sample, inputs={**sample.inputs, "block_tables": np.where(tables > 0, tables - 1, tables)})

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        moved = {}
        for name in ("slot_mapping_enc", "slot_mapping_dec"):
            places = np.asarray(outputs[name]).astype(np.int64)
            moved[name] = np.where(places < 0, -1, places - sample.inputs["block_size"]).astype(np.int32)
        table = np.array(outputs["prefix_block_tables"])
        flat, used = table.reshape(-1), len(of_lengths(sample.inputs).members("encoder")) * _stride(sample.inputs)
        flat[:used] = np.where(flat[:used] > 0, flat[:used] - 1, flat[:used])
        return moved | {"prefix_block_tables": table}

    return Relation("blocks renamed", transform, expect)


def _token_by_token() -> Relation:
    """Places follow from a list of all tokens, the prefix tables from all their cells at once."""

    def places(inputs: Arrays, name: str) -> np.ndarray:
        split, size = of_lengths(inputs), inputs["block_size"]
        slots = split.members(name)
        rows = split.rows[slots]
        tokens = np.repeat(slots, rows)
        index = np.arange(len(tokens)) - np.repeat(np.cumsum(rows) - rows, rows)
        position = np.asarray(inputs["seq_lens_decoder"])[tokens].astype(np.int64) + index
        return np.asarray(inputs["block_tables"][tokens, position // size].astype(np.int64) * size + position % size)

    def prefixes(inputs: Arrays) -> np.ndarray:
        split, stride = of_lengths(inputs), _stride(inputs)
        chunks = split.members("encoder")
        dec = np.asarray(inputs["seq_lens_decoder"]).astype(np.int64)
        listed = np.arange(stride) * inputs["block_size"] < (dec + split.rows)[chunks, None]
        table = np.array(inputs["prefix_block_tables"])
        cells = np.where(listed & bool(dec[chunks].any()), inputs["block_tables"][chunks, :stride], -1)
        table.reshape(-1)[: cells.size] = cells.reshape(-1)
        return table

    def expect(sample: Sample, outputs: Arrays, rng: np.random.Generator) -> Arrays:
        found = {"prefix_block_tables": prefixes(sample.inputs)}
        for name in ("encoder", "decoder"):
            mapping = f"slot_mapping_{name[:3]}"
            found[mapping] = np.full(len(outputs[mapping]), -1, np.int32)
            if sample.inputs.get(f"{name}_splice", False):
                wanted = places(sample.inputs, name)
                found[mapping][: len(wanted)] = wanted
        return found

    return Relation("places and prefix blocks, token by token", lambda sample, rng: sample, expect)


def _copies_agree(inputs: Arrays, outputs: Arrays) -> bool:
    """The written parts of device arrays and host copies."""
    bsz = len(inputs["seq_lens_encoder"])
    counts = {**dict.fromkeys(LISTS, bsz), **dict.fromkeys(SUMS, bsz + 1)}
    return all(np.array_equal(outputs[name][:n], outputs[f"{name}_cpu"][:n]) for name, n in counts.items())


def _movable(inputs: Arrays, outputs: Arrays) -> bool:
    """adjust_batch takes the arrays, and puts the rows of prompt chunks first."""
    split = of_lengths(inputs)
    of_prompt = np.repeat(split.prompt, split.rows)
    rows = np.arange(len(of_prompt))[:, None]
    bsz = len(split.rows)
    arrays = {}
    for name in ("encoder", "decoder"):
        for copy in ("", "_cpu"):
            arrays[f"{name}_seq_lod{copy}"] = outputs[f"{name}_seq_lod{copy}"][: bsz + 1]
            arrays[f"{name}_batch_idx{copy}"] = outputs[f"{name}_batch_idx{copy}"][:bsz]
    out = np.empty_like(rows)
    adjust_batch(rows, **arrays, len_info_cpu=outputs["len_info_cpu"], max_input_length=1, out=out)
    return np.array_equal(out, np.concatenate([rows[of_prompt], rows[~of_prompt]]))


RELATIONS = (
    permute_slots(LAYOUT, "seq_lens_encoder"),
    _room_for_idle_slots(insert_idle_slots(LAYOUT, "seq_lens_encoder")),
    unread("other contents before", _other_contents),
    unread("other blocks where none is taken", _other_blocks),
    _blocks_renamed(),
    _token_by_token(),
    holds("host copies agree", "len_info_cpu", _copies_agree),
    holds("adjust_batch takes the arrays", "len_info_cpu", _movable),
)


def workload(batch: Batch) -> dict[str, Any]:
    columns = -(-(int(batch.dec.max()) + int(batch.this.max())) // 64)
    blocks = np.arange(SLOTS * columns, dtype=np.int32).reshape(SLOTS, columns)
    return {
        "seq_lens_encoder": batch.enc,
        "seq_lens_decoder": batch.dec,
        "seq_lens_this_time": batch.this,
        "block_tables": blocks,
        **_buffers(np.random.default_rng(4), SLOTS, SLOTS + 1, blocks.shape),
        "block_size": 64,
        "num_speculative_tokens": int(batch.this[1:].max()) - 1,
        "encoder_splice": True,
        "decoder_splice": True,
    }


WORKLOADS = index_op(workload)
