"""Run by each Python process of a recorded program as it starts: waits for the module whose ops are recorded.

The `sitecustomize` that this one hides, if there is one, runs too.
"""

import importlib
import os
import sys


def _give_way() -> None:
    """Run the next `sitecustomize`, as if this folder were not there."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


def _watch() -> None:
    try:
        from opgold.harness.record import child
    except Exception as error:
        _lament(error)
    else:
        child.watch()


def _lament(error: Exception) -> None:
    """Tell the recorder that this process goes unrecorded. Nothing of opgold can be used here."""
    import json
    import uuid

    try:
        folder = json.loads(os.environ["OPGOLD_RECORD"])["spool"]
        told = {"python": sys.executable, "faults": [f"opgold cannot be imported: {type(error).__name__}: {error}"]}
        with open(os.path.join(folder, f"{uuid.uuid4().hex}.json"), "w", encoding="utf-8") as file:
            json.dump(told, file)
    except (OSError, KeyError, ValueError):
        return


if "OPGOLD_RECORD" in os.environ:
    _watch()
_give_way()
