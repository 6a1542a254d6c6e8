"""What FastDeploy's call of an op looks like: the golden model's signature, and where the call departs from it.

`kernels/paddle/<op>.yaml` says the departures; an op without that file is called as its signature reads: inputs in
order, then attributes in order; `InOut` in place, `Out` returned. docs/paddle.md explains the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from opgold.kernels.sources import KERNELS
from opgold.reference import schema
from opgold.reference.schema import Scalar, Signature

FOLDER = KERNELS / "paddle"
SIGNATURE = "the signature"  # where the order is from, if nothing else is said
KEYS = ("source", "name", "order", "host", "tensors", "allocated", "beyond")

# What FastDeploy's batch holds as [slots, 1]. Ops look at the first dimension alone.
COLUMNS = frozenset(
    """
    attn_mask_offsets_decoder batch_drop cur_len end_ids end_tokens eos_token_id frequency_scores infer_seed
    limit_status mask_rollback max_dec_len max_reply_lens max_think_lens min_len penalty_scores presence_scores
    prompt_lens reasoning_status recompute_token_num step_idx step_seq_lens_decoder step_seq_lens_this_time stop_flags
    temperatures top_k top_p topp
    """.split()  # noqa: SIM905  (a list of one name a line is no easier to read)
)


class FormError(ValueError):
    """A description that does not fit its op. The message names file, key and value."""


@dataclass(frozen=True)
class Beyond:
    """An argument that FastDeploy's call has not: the value that stands for it there, and the environment variable, if
    any, by which it is set."""

    value: Scalar | None = None
    environment: str | None = None


@dataclass(frozen=True)
class CallForm:
    """One op's call.

    `name` is FastDeploy's, `order` the arguments and attributes by position. `host` are tensors that lie on the CPU
    wherever the others lie, `tensors` the dtypes of attributes that are passed as tensors [1]. `allocated` are `InOut`
    arguments that the call makes, with their extents: it returns them, and what stood in them is not defined. `returns`
    are the new tensors in order; `beyond` what opgold's op has and FastDeploy's has not.
    """

    signature: Signature
    name: str
    order: tuple[str, ...]
    host: frozenset[str]
    tensors: Mapping[str, str]
    allocated: Mapping[str, tuple[str, ...]]
    beyond: Mapping[str, Beyond]
    source: str

    def __str__(self) -> str:
        made = f" -> {', '.join(self.returns)}" if self.returns else ""
        order = "" if self.source == SIGNATURE else f"  ({self.source})"
        return f"{self.name}({', '.join(self.order)}){made}{order}"

    @property
    def op(self) -> str:
        return self.signature.op

    @property
    def returns(self) -> tuple[str, ...]:
        made = {argument.name for argument in self.signature.outputs} | set(self.allocated)
        return tuple(a.name for a in self.signature.arguments if a.name in made and a.name not in self.beyond)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tensors of the call, in its order."""
        arrays = {argument.name for argument in self.signature.arguments}
        return tuple(name for name in self.order if name in arrays)

    def may_lack(self, name: str) -> bool:
        """Whether a call without this argument still is one: an optional input, an attribute with a default."""
        if any(attribute.name == name and not attribute.required for attribute in self.signature.attributes):
            return True
        return any(argument.name == name and argument.optional for argument in self.signature.arguments)


@cache
def form_of(op: str) -> CallForm:
    """How FastDeploy calls an op. Raises UnknownOp, FormError."""
    path = FOLDER / f"{op}.yaml"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return parse(schema.load(op), yaml.safe_load(text) or {}, path)


def parse(signature: Signature, document: Any, path: Path) -> CallForm:
    """The call that a description says. Raises FormError."""

    def wrong(key: str, value: Any, expected: str) -> FormError:
        return FormError(f"{path}: {key}: {value!r}, expected {expected}")

    if not isinstance(document, dict):
        raise wrong("document", document, "a mapping")
    if unknown := [key for key in document if key not in KEYS]:
        raise wrong(str(unknown[0]), document[unknown[0]], f"one of the keys {', '.join(KEYS)}")
    arrays = {argument.name: argument for argument in signature.arguments}
    attributes = {attribute.name: attribute for attribute in signature.attributes}
    allocated = {name: tuple(map(str, extents)) for name, extents in document.get("allocated", {}).items()}
    for name, extents in allocated.items():
        if name not in arrays or not (arrays[name].reads and arrays[name].writes):
            raise wrong("allocated", name, "an InOut argument")
        if len(extents) != len(arrays[name].dims):
            raise wrong("allocated", list(extents), f"{len(arrays[name].dims)} extents")
    beyond = {}
    for name, said in document.get("beyond", {}).items():
        if name not in arrays and name not in attributes:
            raise wrong("beyond", name, f"an argument or attribute of {signature.op}")
        if said is not None and (not isinstance(said, dict) or set(said) - {f.name for f in fields(Beyond)}):
            raise wrong(f"beyond: {name}", said, "value and environment")
        beyond[name] = Beyond(**(said or {}))
    positions = [a.name for a in signature.inputs if a.name not in allocated] + list(attributes)
    positions = [name for name in positions if name not in beyond]
    order = document.get("order", positions)
    if sorted(order) != sorted(positions):
        raise wrong("order", order, f"each of {', '.join(positions)} once")
    tensors = document.get("tensors", {})
    if odd := [name for name in tensors if name not in attributes]:
        raise wrong("tensors", odd[0], f"an attribute of {signature.op}")
    host = frozenset(document.get("host", ()))
    if odd := sorted(host - set(arrays)):
        raise wrong("host", odd[0], f"an argument of {signature.op}")
    return CallForm(
        signature,
        document.get("name", signature.op),
        tuple(order),
        host,
        tensors,
        allocated,
        beyond,
        document.get("source", SIGNATURE),
    )


@cache
def sharing(name: str) -> tuple[str, ...]:
    """The ops that FastDeploy registers under one name, in different versions; the one that is called so first."""
    ops = [op for op in schema.ops() if form_of(op).name == name]
    return tuple(sorted(ops, key=lambda op: op != name))
