"""An observed call as a file, and back: arrays of an .npz, and what is no array as JSON beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from opgold.harness.paddle.observed import Observed, Snapshot
from opgold.harness.record.spool import META

BEFORE, AFTER, RETURNED = "before", "after", "returned"


def arrays(observed: Observed, *, inputs: bool = True) -> dict[str, np.ndarray]:
    """The arrays of a call by entry. What a tensor holds after the call is left out where that is what it held before;
    all that it held before where `inputs` are kept elsewhere."""
    found = {f"{BEFORE}/{name}": snapshot.raw for name, snapshot in observed.before.items() if inputs}
    for name, snapshot in observed.after.items():
        if not _same(snapshot.raw, observed.before[name].raw):
            found[f"{AFTER}/{name}"] = snapshot.raw
    for place, made in enumerate(observed.returned):
        if made is not None:
            found[f"{RETURNED}/{place}"] = made.raw
    return found


def meta(observed: Observed) -> dict[str, Any]:
    """What is no array."""
    return {
        "op": observed.op,
        "scalars": dict(observed.scalars),
        "error": observed.error,
        BEFORE: {name: _told(snapshot) for name, snapshot in observed.before.items()},
        AFTER: {name: _told(snapshot) for name, snapshot in observed.after.items()},
        RETURNED: [None if made is None else _told(made) for made in observed.returned],
    }


def read(path: Path, inputs: Mapping[str, np.ndarray] | None = None) -> tuple[Observed, dict[str, Any]]:
    """The call of a file, and what else is said of it. `inputs` are the arrays before the call where the file lacks
    them; they get the shapes that the tensors had. Raises OSError, ValueError and KeyError."""
    with np.load(path, allow_pickle=False) as file:
        found: dict[str, np.ndarray] = {name: file[name] for name in file.files}
    said: dict[str, Any] = json.loads(found[META].tobytes())

    def before(name: str) -> np.ndarray:
        if inputs is None:
            return found[f"{BEFORE}/{name}"]
        array = inputs[name]
        raw: np.ndarray = array.view(np.uint16) if said[BEFORE][name]["dtype"] == "bfloat16" else array
        shaped: np.ndarray = raw.reshape(said[BEFORE][name]["shape"])
        return shaped

    given = {name: _snapshot(before(name), told) for name, told in said[BEFORE].items()}
    after = {n: _snapshot(found.get(f"{AFTER}/{n}", given[n].raw), told) for n, told in said[AFTER].items()}
    returned = [
        None if told is None else _snapshot(found[f"{RETURNED}/{place}"], told)
        for place, told in enumerate(said[RETURNED])
    ]
    return Observed(said["op"], given, said["scalars"], after, returned, said["error"]), said


def _told(snapshot: Snapshot) -> dict[str, Any]:
    return {"dtype": snapshot.dtype, "address": snapshot.address, "shape": snapshot.shape}


def _snapshot(raw: np.ndarray, told: Mapping[str, Any]) -> Snapshot:
    return Snapshot(raw, told["dtype"], told["address"])


def _same(left: np.ndarray, right: np.ndarray) -> bool:
    return left.shape == right.shape and left.dtype == right.dtype and left.tobytes() == right.tobytes()
