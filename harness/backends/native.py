"""Kernels of this repository, built for a target and called in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opgold.harness.backends.base import Backend, Variant, attributes_of, tensors_of
from opgold.kernels import build, runtime
from opgold.kernels.report import Report
from opgold.kernels.sources import vendor_of
from opgold.reference.schema import Signature, Value


class Native(Backend):
    """A target of `opgold.kernels.build`; `flavour` is how its kernels are compiled, `time_limit` what one launch may
    take, in (on an emulator processor) seconds."""

    def __init__(self, target: str, flavour: str = "plain", *, time_limit: float = runtime.TIME_LIMIT) -> None:
        self.name = self.target = target
        self.flavour = flavour
        self.time_limit = time_limit
        self.defines: Sequence[str] = ()  # macros that kernels are built with
        self._libraries: dict[str, Path] = {}
        self.emulated = target.endswith("-emu")
        self.grids = target == "xpu-emu"
        self.vendors = (vendor_of(target),)

    def unavailable(self) -> str:
        try:
            return runtime.device(self.target).unavailable
        except (build.MissingCompiler, build.BuildError) as reason:
            return str(reason)

    def source(self, op: str) -> Path:
        """The kernel's file."""
        return build.source_of(op, self.target)

    def has(self, op: str) -> bool:
        return self.source(op).exists()

    def prepare(self, op: str) -> None:
        if op not in self._libraries:
            self._libraries[op] = build.kernel_library(
                self.source(op), target=self.target, flavour=self.flavour, defines=self.defines
            )

    def call(self, signature: Signature, values: Mapping[str, Value], variant: Variant) -> Report:
        self.prepare(signature.op)
        return runtime.device(self.target).call(
            self._libraries[signature.op],
            signature.op,
            tensors=tensors_of(signature, values),
            attributes=attributes_of(signature, values),
            schedule=variant.schedule,
            shift=variant.shift,
            seed=variant.seed,
            clusters=variant.clusters,
            cores=variant.cores,
            copies=variant.copies,
            time_limit=self.time_limit,
        )
