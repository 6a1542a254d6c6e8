"""Memory that Paddle's tensors hold on its current device, in bytes."""

from __future__ import annotations

from typing import Any


def allocated() -> int:
    """What is held now."""
    return int(_counter("current_value"))


def reset_peak() -> None:
    """Count the peak from now on."""
    _counter("reset_peak_value")


def peak() -> int:
    """The most that was held since the last `reset_peak`."""
    return int(_counter("peak_value"))


def _counter(what: str) -> Any:
    import paddle

    place, core = paddle.get_device(), paddle.base.core
    if place == "cpu":
        return getattr(core, f"host_memory_stat_{what}")("Allocated", 0)
    return getattr(core, f"device_memory_stat_{what}")("Allocated", int(place.partition(":")[2] or 0))
