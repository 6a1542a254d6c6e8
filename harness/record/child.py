"""What `opgold record` starts in each Python process of a program. Light until the module is imported."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType

from opgold.harness.record.imports import Watch
from opgold.harness.record.spool import Spool

VARIABLE = "OPGOLD_RECORD"


def watch() -> None:
    """Record the module that the environment names, once it is imported."""
    wanted = json.loads(os.environ[VARIABLE])

    spool = Spool(Path(wanted["spool"]), wanted["max_bytes"])

    def imported(module: ModuleType) -> None:
        try:
            from opgold.harness.record.recorder import Recorder

            Recorder(wanted["module"], module, spool, wanted["ops"]).start()
        except Exception as error:  # the program goes on, whatever becomes of the recording
            spool.fault(f"nothing is recorded: {type(error).__name__}: {error}")
        spool.tell()

    Watch(wanted["module"].partition("@")[0], imported).start()
