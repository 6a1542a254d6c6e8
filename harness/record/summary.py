"""What came of a recording, in numbers and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

NAMED = 8  # ops that were not called
Counts = Mapping[str, Mapping[str, int]]  # by op, by reason


@dataclass(frozen=True)
class Summary:
    """Calls by op: `seen`, `kept`, `dropped` and `unfit` (they cannot be cases) by reason. `has` are the module's ops,
    `faults` what went wrong with recording itself, `processes` those that imported the module."""

    module: str
    folder: str
    processes: int
    has: Sequence[str]
    seen: Mapping[str, int]
    kept: Mapping[str, int]
    dropped: Counts
    unfit: Counts
    faults: Sequence[str]

    @classmethod
    def of(
        cls,
        module: str,
        folder: str,
        processes: Sequence[Mapping[str, Any]],
        dropped: Counts,
        unfit: Counts,
        faults: Iterable[str],
        kept: Mapping[str, int],
    ) -> Summary:
        """From what each process told, and from what the sorter did."""
        seen: Counter[str] = Counter()
        for told in processes:
            seen.update(told.get("seen", {}))
        said = [f"{text} ({told['python']})" for told in processes for text in told.get("faults", ())]
        return cls(
            module,
            folder,
            sum(bool(told.get("has") or told.get("seen")) for told in processes),
            sorted({op for told in processes for op in told.get("has", {}).values()}),
            dict(sorted(seen.items())),
            kept,
            _merged([dropped, *(told.get("dropped", {}) for told in processes)]),
            _merged([unfit, *(told.get("unfit", {}) for told in processes)]),
            list(dict.fromkeys([*said, *faults])),
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """For a person."""
        module = self.module.partition("@")[0]
        if not self.processes:
            lines = [
                f"opgold record: nothing recorded: no Python process imported {module} "
                "(one with -E, -I or -S, or with a PYTHONPATH of its own, is not seen)"
            ]
            return lines + [f"  recording failed: {text}" for text in self.faults]
        total, kept = sum(self.seen.values()), sum(self.kept.values())
        lines = [
            f"opgold record: {_plural(total, 'call')} of {_plural(len(self.seen), 'op')} of {module} in "
            f"{_plural(self.processes, 'process', 'es')}, {kept:,} kept in {self.folder}"
        ]
        for op, count in self.seen.items():
            dropped = [f"{number:,} {reason}" for reason, number in self.dropped.get(op, {}).items()]
            tail = f"; not kept: {', '.join(dropped)}" if dropped else ""
            lines.append(f"  {op}: {_plural(count, 'call')}, {self.kept.get(op, 0):,} kept{tail}")
            for why, number in self.unfit.get(op, {}).items():
                lines.append(f"    {number:,} that no case can say: {why.splitlines()[0]}")
        if silent := [op for op in self.has if op not in self.seen]:
            more = f" and {_plural(len(silent) - NAMED, 'more op')}" if len(silent) > NAMED else ""
            lines.append(f"  not called: {', '.join(silent[:NAMED])}{more}")
        lines += [f"  recording failed: {text}" for text in self.faults]
        if kept:
            lines.append(f"  now: opgold check --recorded {self.folder}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _merged(counts: Iterable[Counts]) -> dict[str, dict[str, int]]:
    merged: dict[str, Counter[str]] = {}
    for each in counts:
        for op, reasons in each.items():
            merged.setdefault(op, Counter()).update(reasons)
    return {op: dict(merged[op]) for op in sorted(merged)}


def _plural(number: int, what: str, ending: str = "s") -> str:
    return f"{number:,} {what}{'' if number == 1 else ending}"
