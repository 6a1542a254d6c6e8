"""What this machine has: compilers, devices, backends, and why a backend is unavailable."""

from __future__ import annotations

import platform
import subprocess

from rich.table import Table

from opgold import __version__
from opgold.harness import backends
from opgold.harness.paddle import tensors
from opgold.kernels import build, xpu_language
from opgold.kernels.compilers import TARGETS


def table() -> Table:
    shown = Table(header_style="bold", box=None)
    for column in ("what", "state", "detail"):
        shown.add_column(column, overflow="fold")
    shown.add_row("opgold", "[green]ok[/]", f"{__version__}, Python {platform.python_version()}")
    for target in TARGETS:
        shown.add_row(f"compiler for {target}", *_compiler(target))
    missing = xpu_language.unavailable()
    shown.add_row("language of xpu-emu", "[yellow]not checked[/]" if missing else "[green]ok[/]", missing)
    shown.add_row("devices", *_devices())
    shown.add_row("Paddle", *_paddle())
    for name in backends.NAMES:
        reason = backends.get(name).unavailable()
        shown.add_row(f"backend {name}", "[yellow]unavailable[/]" if reason else "[green]ok[/]", reason)
    shown.add_row("built kernels", "", str(build.cache_directory()))
    return shown


def _paddle() -> tuple[str, str]:
    if missing := tensors.unavailable():
        return "[yellow]missing[/]", missing
    import paddle

    return "[green]ok[/]", f"{paddle.__version__}, on {paddle.get_device()}"


def _compiler(target: str) -> tuple[str, str]:
    try:
        compiler = build.find_compiler(target)
    except build.MissingCompiler as reason:
        return "[yellow]missing[/]", str(reason)
    return "[green]ok[/]", str(compiler)


def _devices() -> tuple[str, str]:
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return "none", "no NVIDIA driver answers (nvidia-smi)"
    return "[green]ok[/]", listed.strip()
