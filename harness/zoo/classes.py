"""Classes of faults that kernels of these ops have had, ways to cheat a checker, and what no kernel can show."""

from __future__ import annotations

FAULTS = {
    "OFF": "off by one in an index or a count",
    "SEAM": "a pattern that lies across two buffers",
    "CONV": "another meaning of a step count or of history's first slot",
    "STRIDE": "a factor missing in a row's offset",
    "PADLEN": "slots of length 0 taken for live ones",
    "PAD": "what lies behind the last row taken for live, or left as it was",
    "SENT": "a sentinel (-1) used as a value",
    "EMPTY": "no slots, no tokens",
    "BRANCH": "what a slot is, guessed from a number",
    "ROLLBACK": "state not taken back after a rejection",
    "STALE": "old values that survive",
    "PAIR": "siblings that are updated apart",
    "ADDR": "a buffer's address kept from an earlier call, or taken to be aligned",
    "OOB-R": "a read out of bounds",
    "OOB-W": "a write out of bounds",
    "SIZE": "a size of the host that is not the device's need",
    "LIMIT": "a fixed capacity",
    "WIDTH": "too few bits",
    "SEED": "a random stream shared or skipped",
    "NUM": "ties, infinities, NaN",
    "RACE": "an order that nothing makes sure of",
    "FENCE": "memory used before a transfer or a store is done",
    "LOCAL": "on-chip memory that is too small",
    "DRIFT": "backends that differ",
    "SIG": "arguments exchanged or missing",
    "SHAPE": "a flat buffer taken for rows, or the reverse",
    "RO": "an input that is written",
    "TERM": "a loop whose end comes from data",
    "LEAK": "memory that grows with each call",
}
CHEATS = {
    "output never written": "relies on memory that held the right result before",
    "previous output returned": "hands out what an earlier call computed",
    "input edited": "changes an input, so that a reference that runs later agrees",
    "constant": "one value, whatever the inputs",
    "zeros": "what is small passes for zero",
    "copy of an input": "no computation",
    "first row everywhere": "the work of one slot, handed to all",
    "work on another stream": "results that come after the caller looked",
    "wrong tail": "right where a careless comparison looks",
    "result cached by address": "right for the first data that lay there",
    "result cached by shape": "right for the first data of these sizes",
    "attribute of the first call": "right until an attribute changes",
    "right on the first call only": "drifts with each call",
    "wrong on the first call only": "set up too late",
    "depends on what the output held": "adds to what it should overwrite",
    "right answer and a write elsewhere": "changes a buffer that is nobody's",
    "synchronises": "cannot be captured in a graph",
}
ELSEWHERE = {
    "DIST": "ranks that disagree need several processes; a kernel sees one. What makes them disagree, a result that "
    "hangs on more than the arguments, is SEED's and the cheats'.",
}


def known(name: str) -> bool:
    """Whether an exhibit may be of this class: a fault's, or `cheat: ` and a way to cheat."""
    return name in FAULTS or name.removeprefix("cheat: ") in CHEATS


def order(name: str) -> int:
    """Its place in the tables."""
    return [*FAULTS, *(f"cheat: {cheat}" for cheat in CHEATS)].index(name)
