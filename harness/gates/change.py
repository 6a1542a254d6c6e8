"""A change since a revision: its diff, its files, and the ops that it concerns."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opgold import cases, reference
from opgold.harness.gates import tools
from opgold.harness.gates.counts import ROOT
from opgold.kernels.sources import KERNELS, source_of, units_of, with_includes
from opgold.reference import schema

FOLDERS = ("reference", "kernels", "cases", "harness")
# What no case runs: what is in none of the folders above, and these.
ASIDE = ("kernels/bench", "cases/sequences", "cases/chains", "harness/bench", "reference/glue", "harness/glue")
FOLDER_OF = {
    "opgold.reference": Path(reference.__path__[0]).resolve(),
    "opgold.cases": Path(cases.__path__[0]).resolve(),
}


@dataclass(frozen=True)
class Change:
    """What changed in the repository at `root` since the last revision that the base and the present one share, with
    what is not committed yet."""

    root: Path
    diff: str
    files: tuple[Path, ...]


def since(base: str) -> Change:
    """The change of the repository that opgold runs from. Raises Unmeasurable if there is none, or no such revision."""
    try:
        tools.git(ROOT, "ls-files", "--error-unmatch", KERNELS / "sources.py")
        root = Path(tools.git(ROOT, "rev-parse", "--show-toplevel").rstrip("\n"))
    except tools.Unmeasurable as error:
        raise tools.Unmeasurable(
            f"opgold runs from {ROOT}, which is no checkout; in yours: pip install -e ."
        ) from error
    try:
        shared = tools.git(root, "merge-base", base, "HEAD").strip()
    except tools.Unmeasurable as error:
        raise tools.Unmeasurable(f"--base {base}: no such revision, or none that it shares with HEAD") from error
    diff = ("diff", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", "--unified=0")
    changed = tools.git(root, "diff", "--name-only", "--no-renames", "-z", shared).split("\0")
    new = tools.git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    parts = [tools.git(root, *diff, shared)]
    parts += [tools.git(root, *diff, "--no-index", "--", "/dev/null", name, accept=(0, 1)) for name in new if name]
    return Change(root, "".join(parts), tuple(root / name for name in (*changed, *new) if name))


def concerned(files: Iterable[Path], ops: Sequence[str]) -> list[str]:
    """The ops, in the order of `ops`, that a change of `files` concerns.

    A file that an op is made of concerns that op; one that all share, or that nobody names, concerns all.
    """
    made_of = {op: parts(op) for op in ops}
    known = set().union(*made_of.values()) if made_of else set()
    chosen: set[str] = set()
    for file in files:
        owner = file.parent.name if file.is_relative_to(ROOT / "cases" / "regressions") else None
        chosen.update(op for op in ops if file in made_of[op] or op == owner)
        if file not in known and owner is None and _shared(file):
            return list(ops)
    return [op for op in ops if op in chosen]


def _shared(file: Path) -> bool:
    """Whether all ops may hang on a file that none of them names: the emulator, the build, the harness."""
    if not any(file.is_relative_to(ROOT / folder) for folder in FOLDERS):
        return False
    alone = (*ASIDE, *(f"kernels/{vendor}" for vendor in schema.VENDORS))  # a kernel's file that no op includes
    return not any(file.is_relative_to(ROOT / folder) for folder in alone)


def parts(op: str) -> set[Path]:
    """Every file that an op is made of: kernels with what they include, golden model and strategy with what they
    import."""
    found: set[Path] = set()
    for vendor in schema.VENDORS:
        source = source_of(op, vendor)
        units = [unit for unit in units_of(source) if unit.exists()]
        found.update(file for file in with_includes(units, vendor) if file.is_relative_to(KERNELS))
    pending = [folder / f"{op}.py" for folder in FOLDER_OF.values()]
    while pending:
        module = pending.pop()
        if module.exists() and module not in found:
            found.add(module)
            pending += imports(module)
    return found


@cache
def imports(module: Path) -> list[Path]:
    """The modules of golden models and strategies that a module imports."""
    names: list[str] = []
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    places = ((name.rpartition(".")[0], name.rpartition(".")[2]) for name in names)
    files = (FOLDER_OF[package] / f"{stem}.py" for package, stem in places if package in FOLDER_OF)
    return [file for file in files if file.exists()]
