"""Which GPU a test worker uses: workers fold onto the devices that the caller left visible."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

VARIABLE = "CUDA_VISIBLE_DEVICES"
WORKER = "PYTEST_XDIST_WORKER"


def visible(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Names of the visible devices, as CUDA_VISIBLE_DEVICES takes them: indices, GPU or MIG ids. Opens no device.

    The variable is read as CUDA reads it: an empty one hides everything, and what follows an invalid index is hidden.
    """
    given = environment.get(VARIABLE)
    if given is None:
        return [str(index) for index in range(installed())]
    names = []
    for name in (part.strip() for part in given.split(",")):
        if not (name.isdecimal() or name.startswith(("GPU-", "MIG-"))):
            break
        names.append(name)
    return names


def installed() -> int:
    """How many GPUs the driver lists; 0 without a driver."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines()) if listed.returncode == 0 else 0


def worker_index(environment: Mapping[str, str] = os.environ) -> int | None:
    """3 in the pytest-xdist worker gw3; None outside a worker."""
    name = environment.get(WORKER, "")
    return int(name[2:]) if name.startswith("gw") and name[2:].isdecimal() else None


def narrowed(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment with one visible device: this worker's. Narrowing twice changes nothing more.

    Outside a worker the first device is chosen. Where none is visible the environment stays as it is.
    """
    devices = visible(environment)
    if not devices:
        return dict(environment)
    return {**environment, VARIABLE: devices[(worker_index(environment) or 0) % len(devices)]}


def narrow_worker() -> None:
    """Narrow this process, if it is a pytest-xdist worker. Call it before any device library loads.

    The controlling process keeps all its devices, since its workers inherit them.
    """
    if worker_index() is not None:
        os.environ.update(narrowed())


def worker_limit(devices: Sequence[str], per_device: int = 4) -> int | None:
    """How many workers share the devices: no more than there are processors; None where there is no device to share."""
    return min(len(devices) * per_device, os.cpu_count() or 1) if devices else None
