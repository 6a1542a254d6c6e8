"""Turns calls of a spool into cases, of which it keeps those that differ, within limits."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from opgold import __version__
from opgold.harness import casefile
from opgold.harness.backends.module import Remembered
from opgold.harness.backends.played import Played
from opgold.harness.case import Case
from opgold.harness.oracles import judge_runs
from opgold.harness.paddle.form import form_of
from opgold.harness.paddle.observed import Observed, drawn
from opgold.harness.paddle.parameters import Binding
from opgold.harness.record import files
from opgold.harness.record.branches import Step, way
from opgold.harness.record.folder import CALL, MANIFEST
from opgold.harness.record.spool import META
from opgold.harness.record.summary import Summary
from opgold.harness.runner import try_case
from opgold.reference.schema import ContractError

Departures = frozenset[tuple[str, ...]]  # kinds of findings
Shows = tuple[frozenset[Step], Departures]  # a way through the golden model, and where the op departed from it


@dataclass(frozen=True)
class Kept:
    """A call that is kept: its file, its bytes, and what it shows."""

    path: Path
    size: int
    shows: Shows


class Sorter:
    """Sorts what waits in `spool` into `folder`, at most `max_calls` of each op and `max_bytes` of all. `name` is the
    module's, with its contract file if there is one.

    Of calls of one op, one set of shapes, dtypes and attributes, and one way through the golden model, the first is
    kept, and the first that departs from the golden model in another manner. When there is no room, a call on a new
    way, or with a new departure, takes the place of one that shows nothing of its own. Raises UnknownBackend.
    """

    def __init__(self, name: str, folder: Path, spool: Path, max_calls: int, max_bytes: int) -> None:
        self.folder = folder
        self._name = name
        self._spool = spool
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._bindings: dict[str, Binding] = {}
        self._module = Remembered(name, self._bindings)
        self._kept: defaultdict[str, list[Kept]] = defaultdict(list)
        self._dropped: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._unfit: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._faults: list[str] = []
        self._known: set[Any] = set()
        self._numbers: Counter[str] = Counter()

    def sort(self) -> None:
        """Sort the calls that wait now."""
        waiting = sorted((entry.stat().st_mtime_ns, entry) for entry in self._spool.glob("*.npz"))
        for _, path in waiting:
            try:
                self._sort(*files.read(path))
            except Exception as error:  # the others must still be sorted
                self._faults.append(f"a call was not sorted: {type(error).__name__}: {error}")
            path.unlink()

    def finish(self) -> Summary:
        """Sort the rest, write down what came of all, and take the spool away."""
        self.sort()
        counts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self._spool.glob("*.json"))]
        kept = {op: len(calls) for op, calls in sorted(self._kept.items())}
        summary = Summary.of(self._name, str(self.folder), counts, self._dropped, self._unfit, self._faults, kept)
        bindings = {op: vars(binding) for op, binding in sorted(self._bindings.items())}
        document = {"opgold": __version__, "bindings": bindings} | summary.as_json()
        (self.folder / MANIFEST).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        shutil.rmtree(self._spool, ignore_errors=True)  # a process that outlives the program may still write
        return summary

    def _sort(self, observed: Observed, said: Mapping[str, Any]) -> None:
        op, form = observed.op, form_of(observed.op)
        if op not in self._bindings:
            self._bindings[op] = Binding(**{key: tuple(names) for key, names in said["binding"].items()})
        if self._module.left_out(op):
            self._dropped[op]["which the contract leaves out"] += 1
            return
        case = observed.case(self._module.fixed(op))
        try:
            form.signature.bind(case.inputs)
            taken = way(case)
        except ContractError as misfit:
            self._unfit[op][str(misfit)] += 1
            return
        if taken.refusal is not None and (own := drawn(op, self._bindings[op], taken.refusal)):
            self._dropped[op][f"which hang on {own}, which the op makes itself"] += 1
            return
        self._keep(replace(case, refused=taken.refusal), observed, said, taken.steps)

    def _keep(self, case: Case, observed: Observed, said: Mapping[str, Any], steps: frozenset[Step]) -> None:
        """Keep a call that is unlike all so far, if there is room."""
        op, shows = case.op, (steps, self._departures(case, observed))
        arrays = {name: value for name, value in case.inputs.items() if isinstance(value, np.ndarray)}
        shapes = frozenset((name, value.shape, value.dtype.name) for name, value in arrays.items())
        attributes = frozenset(item for item in case.inputs.items() if item[0] not in arrays)
        key = (op, shapes, attributes, shows)
        if key in self._known:
            self._dropped[op]["of the same shapes, attributes and branches"] += 1
            return
        self._known.add(key)
        made = files.arrays(observed, inputs=False)
        size = sum(array.nbytes for array in (*arrays.values(), *made.values()))
        if not self._room(op, size, shows):
            return
        self._numbers[op] += 1
        path = self.folder / op / f"call_{self._numbers[op]}.yaml"
        why = f"Recorded from {self._name.partition('@')[0]}, call {said['number']} of process {said['process']}."
        casefile.write(replace(case, why=why), path)
        text = np.frombuffer(json.dumps(files.meta(observed)).encode(), np.uint8)
        np.savez_compressed(path.with_suffix(CALL), **made, **{META: text})  # type: ignore[arg-type]
        self._kept[op].append(Kept(path, size, shows))

    def _departures(self, case: Case, observed: Observed) -> Departures:
        """The kinds of findings on a call."""
        player = Played("recorded", self._module)
        player.add(case, observed)
        return frozenset(finding.kind for finding in judge_runs(try_case(case, player)))

    def _room(self, op: str, size: int, shows: Shows) -> bool:
        """Whether one more call fits in; calls that show nothing of their own give way to one that shows something."""
        new = all(call.shows != shows for call in self._kept[op])
        while reason := self._full(op, size):
            spare = self._spare(op) if new else None
            if spare is None:
                self._dropped[op][reason] += 1
                return False
            self._kept[op].remove(spare)
            for suffix in (".yaml", ".npz", CALL):
                spare.path.with_suffix(suffix).unlink(missing_ok=True)
            self._dropped[op]["that gave way to others that show more"] += 1
        return True

    def _full(self, op: str, size: int) -> str:
        if len(self._kept[op]) >= self._max_calls:
            return "above --max-calls"
        total = sum(call.size for calls in self._kept.values() for call in calls)
        return "above --max-bytes" if total + size > self._max_bytes else ""

    def _spare(self, op: str) -> Kept | None:
        """The last call of the op that shows what another one shows, too."""
        shown = Counter(call.shows for call in self._kept[op])
        return next((call for call in reversed(self._kept[op]) if shown[call.shows] > 1), None)
