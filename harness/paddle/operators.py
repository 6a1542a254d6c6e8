"""opgold's ops as registered Paddle operators, built once and called as FastDeploy calls them.

On a CPU the kernels run on the emulator: the CUDA ones, or the XPU ones where an op has no other.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from opgold.harness.paddle import registration
from opgold.harness.paddle.registration import Operator
from opgold.kernels import build, runtime
from opgold.kernels.cache import cached
from opgold.kernels.compilers import run, version
from opgold.kernels.report import Report
from opgold.kernels.sources import KERNELS, key_of, with_includes
from opgold.reference import schema

HEADER = KERNELS / "bindings" / "paddle" / "operators.h"


class KernelFault(RuntimeError):
    """The emulator saw a kernel do something unlawful. The message names kernel, argument, element and line."""


def device() -> str:
    """The target whose kernels Paddle's tensors meet: `cuda` where Paddle has CUDA and uses it, else the emulator."""
    import paddle

    return "cuda" if paddle.is_compiled_with_cuda() and paddle.get_device().startswith("gpu") else "cuda-emu"


def target_of(op: str) -> str:
    """Where an op's kernel is built for."""
    target = device()
    return target if "cuda" in schema.load(op).vendors else "xpu-emu"


@cache
def library() -> Path:
    """The library of all operators, for the Paddle that is installed. Raises BuildError, MissingCompiler."""
    import paddle

    cuda = paddle.is_compiled_with_cuda()
    core = Path(paddle.base.core.__file__).parent
    compile_, suffix = command(cuda)
    link = ["-shared", str(core / "libpaddle.so")]
    text = registration.source()
    known = [*compile_, version(compile_[0]), paddle.__version__, str(paddle.version.commit), *link, text]

    def compile_unit(out: Path) -> None:
        unit = out.with_suffix(suffix)
        unit.write_text(text, encoding="utf-8")
        try:
            run([*compile_, str(unit), "-o", str(out), *link])
        finally:
            unit.unlink()

    return cached(f"paddle-operators-{key_of(with_includes([HEADER]), known)}", compile_unit)


def command(cuda: bool) -> tuple[list[str], str]:
    """What compiles the registration for a Paddle with or without CUDA, and the suffix of the unit's name. Paddle's
    headers for CUDA need nvcc's own. Raises MissingCompiler."""
    import paddle

    include = Path(paddle.sysconfig.get_include())
    flags = ["-std=c++17", "-O1", "-w", f"-I{KERNELS}", f"-I{include}", f"-I{include / 'third_party'}"]
    if cuda:
        return [build.find_compiler("cuda"), *flags, "-Xcompiler", "-fPIC", "-DPADDLE_WITH_CUDA"], ".cu"
    return [build.find_compiler("cuda-emu"), *flags, "-fPIC", "-Wl,--no-as-needed"], ".cc"


class _Options(ctypes.Structure):
    """opgold_options of abi.h."""

    _fields_ = (
        ("schedule", ctypes.c_int32),
        ("shift", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
        ("step_limit", ctypes.c_int64),
        ("time_limit", ctypes.c_double),
        ("clusters", ctypes.c_int32),
        ("cores", ctypes.c_int32),
        ("copies", ctypes.c_int32),
        ("barriers", ctypes.c_int32),
    )


class Operators:
    """The registered operators. One call at a time."""

    def __init__(self) -> None:
        from paddle.utils.cpp_extension.extension_utils import load_op_meta_info_and_register_op

        path = str(library())
        load_op_meta_info_and_register_op(path)
        self._library = ctypes.CDLL(path)
        self._library.opgold_paddle_report.restype = ctypes.c_char_p
        self._bound: set[str] = set()
        self._lock = threading.RLock()
        self._options = _options()
        self._raises = True
        self.report: Report | None = None

    def bind(self, op: str) -> None:
        """Build an op's kernel and let its operator call it. Raises BuildError."""
        if op in self._bound:
            return
        target = target_of(op)
        kernels = ctypes.CDLL(str(self._kernels(op, target)))
        call = ctypes.c_void_p()
        if target != "cuda":
            emulator = ctypes.CDLL(str(build.device_library(target)))
            call = ctypes.cast(emulator.opgold_device_call, ctypes.c_void_p)
        entry = ctypes.cast(getattr(kernels, f"opgold_op_{op}"), ctypes.c_void_p)
        index = [operator.op for operator in registration.operators()].index(op)
        self._library.opgold_paddle_bind(ctypes.c_int32(index), entry, call)
        self._bound.add(op)

    def _kernels(self, op: str, target: str) -> Path:
        if target != "cuda":
            runtime.device(target)  # loads the emulator, which kernels are linked to, for good
        return build.kernel_library(build.source_of(op, target), target=target)

    def call(self, operator: Operator, given: Mapping[str, Any], sizes: Mapping[str, int]) -> list[Any]:
        """Call an operator; its new tensors. Raises ValueError for what the kernel refuses, KernelFault."""
        from paddle import _C_ops

        self.bind(operator.op)
        for argument in operator.form.signature.written:
            tensor = given.get(argument.name)
            if tensor is not None and not tensor.is_contiguous():  # Paddle would hand on a copy
                raise ValueError(f"{operator.op}: {argument.name}: is not contiguous; what is written would be lost")
        inputs = [given[name] for name in operator.inputs]
        attributes = [given[name] for name in operator.attributes] + [sizes[name] for name in operator.sizes]
        with self._lock:
            self.report = None
            self._library.opgold_paddle_watch(ctypes.byref(self._options), ctypes.c_int32(1))
            try:
                returned = _C_ops._run_custom_op(operator.name, *inputs, *attributes)
                text = self._library.opgold_paddle_report()
            finally:
                self._library.opgold_paddle_watch(ctypes.byref(_options()), ctypes.c_int32(0))
            if text:
                self.report = Report.of(text.decode())
        if self.report is not None and self.report.error is not None:
            raise ValueError(f"{operator.op}: {self.report.error}")
        if self.report is not None and self.report.faults and self._raises:
            raise KernelFault(f"{operator.op}: " + "\n".join(map(str, self.report.faults)))
        returned = returned if isinstance(returned, list | tuple) else [returned]
        return list(returned[len(returned) - len(operator.made) :]) if operator.made else []

    @contextmanager
    def varied(self, **options: Any) -> Iterator[None]:
        """Calls within are made with these options of `runtime.Device.call`, and raise no KernelFault."""
        self._options, self._raises = _options(**options), False
        try:
            yield
        finally:
            self._options, self._raises = _options(), True


def _options(
    schedule: str = "ascending", shift: int = 0, seed: int = 0, clusters: int = 0, cores: int = 0, copies: str = "late"
) -> _Options:
    orders, transfers = runtime.SCHEDULES[schedule], runtime.COPIES[copies]
    limits = (runtime.STEP_LIMIT, runtime.TIME_LIMIT)
    return _Options(orders, shift, seed, *limits, clusters, cores, transfers, runtime.BARRIERS["strict"])


@cache
def registered() -> Operators:
    """All operators, registered with Paddle."""
    return Operators()
