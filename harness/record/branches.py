"""Which way through its golden model a call takes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import opgold.reference
from opgold.harness.case import Case
from opgold.harness.runner import arguments, call_golden
from opgold.reference.schema import ContractError

MODELS = str(Path(opgold.reference.__path__[0]))
VOCABULARY = str(Path(MODELS) / "schema.py")

Step = tuple[str, int, int]  # file, the line left, the line reached


@dataclass(frozen=True)
class Way:
    """The steps from line to line in golden models, each once; and the model's refusal, if it refuses."""

    steps: frozenset[Step]
    refusal: str | None = None


def way(case: Case) -> Way:
    """Run the model on a copy of a case whose shapes fit. A model that fails is for its oracle to report: its way ends
    there."""
    values = arguments(case, 0)
    steps: set[Step] = set()
    before = sys.gettrace()
    sys.settrace(_tracer(steps))
    try:
        call_golden(case.signature, values)
    except ContractError as refusal:
        return Way(frozenset(steps), str(refusal))
    except Exception:
        return Way(frozenset(steps))
    finally:
        sys.settrace(before)
    return Way(frozenset(steps))


def _tracer(steps: set[Step]) -> Any:
    def begin(frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(MODELS) or file == VOCABULARY:
            return None
        last = 0

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                steps.add((file, last, frame.f_lineno))
                last = frame.f_lineno
            return line

        return line

    return begin
