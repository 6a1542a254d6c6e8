"""The page of the zoo: a row an exhibit, a column an oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opgold.harness.zoo import classes
from opgold.harness.zoo.exhibit import ORACLES, Exhibit
from opgold.harness.zoo.trial import Outcome

COMMAND = "python -m opgold.harness.zoo tests/zoo --page docs/zoo.md"
MARK, PERHAPS = "●", "○"
_ABOUT = f"""# The zoo

<!-- Written by `{COMMAND}`. -->

Do the oracles still find what they are there to find? `tests/zoo/` holds small kernels of our ops. In each, one bug
stands beside the right text, as `#ifdef ZOO_BUG`: built with the macro it must be reported, built without it, it must
not. All that is kept for the op is run on both, regression cases and, where the head of the file says so, sequences.
The golden models, cases and oracles are those of every other check.

A full mark says that an oracle reports the bug in at least one of the cases, an empty one that it may, as the compiler
or what memory held will have it; `shown` counts the cases in which some oracle reports it, of those that ran.

`pytest tests/zoo` fails when a bug is no longer reported by the oracles that its file names, when a right twin is not
silent, on kept and on generated cases, and when this page is not what comes out. Twins of the same text run once.

```
{COMMAND}    # all, and this page
python -m opgold.harness.zoo tests/zoo zeros                      # one, with its findings
```
"""
_ADD = """## Add an exhibit

One file, `tests/zoo/cuda/NAME.cu`, or `tests/zoo/xpu/NAME.xpu` with its launcher `NAME.cc`. It implements an op in
the simplest right way; headers of `kernels/` and those beside it may help. Its head says

```
// op: rebuild_padding
// class: STRIDE
// story: What went wrong, with the link of a report.
// caught by: values, footprint
```

`class` is one of those above (`harness/zoo/classes.py`), `caught by` names the oracles that must report it, `perhaps`
those that may. `// plays: mtp_rounds` runs that kind of [sequences](sequences.md), too. A bug that nothing reports yet
says `// not caught: reason` instead. Each class has an exhibit, or a reason why it has none.
"""


def row(exhibit: Exhibit, bug: Outcome) -> str:
    """An exhibit's line of the table."""
    marks = [PERHAPS if name in exhibit.perhaps else MARK if name in bug.oracles else "" for name in ORACLES]
    file = f"[`{exhibit.name}`](../tests/zoo/{exhibit.path.parent.name}/{exhibit.path.name})"
    story = exhibit.story + (f" **Not caught:** {exhibit.missed}" if exhibit.missed else "")
    cells = [exhibit.fault, file, f"`{exhibit.op}`", *marks, f"{len(bug.shown)}/{bug.ran}", story]
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def page(exhibits: Sequence[Exhibit], rows: Mapping[str, str]) -> str:
    """The whole page; `rows` are those of the exhibits, by name."""
    heads = ["class", "kernel", "op", *ORACLES, "shown", "story"]
    aligned = ["---", "---", "---", *[":-:"] * len(ORACLES), "---", "---"]
    return "\n".join(
        [
            _ABOUT,
            f"## {len(exhibits)} bugs, and who reports them\n",
            f"| {' | '.join(heads)} |",
            f"|{'|'.join(aligned)}|",
            *(rows[exhibit.name] for exhibit in exhibits),
            "\n## Classes\n",
            "| class | is |\n|---|---|",
            *(f"| {name} | {meaning} |" for name, meaning in classes.FAULTS.items()),
            *(f"| cheat: {name} | {meaning} |" for name, meaning in classes.CHEATS.items()),
            "\nNo kernel can show:\n",
            *(f"* {name}: {reason}" for name, reason in classes.ELSEWHERE.items()),
            "",
            _ADD,
        ]
    )
