"""The tools that gates stand on: gcovr, gcov, diff-cover, git; found and run, their failures said in one line."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from opgold.kernels.compilers import is_clang, version

PACKAGES = {"coverage": "coverage", "gcovr": "gcovr", "diff_cover": "diff-cover"}


class Unmeasurable(RuntimeError):
    """Coverage cannot be measured, or a change cannot be told, as things stand. The message says why, in one line."""


def require() -> None:
    """Raises Unmeasurable if a package of the extra `gates` is missing."""
    missing = [name for module, name in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise Unmeasurable(f"coverage needs {', '.join(missing)}: pip install 'opgold[gates]'")


def run(command: Sequence[str | Path], cwd: Path | None = None, accept: Sequence[int] = (0,)) -> str:
    """What a tool prints. Raises Unmeasurable with the first error that it names, or its last line, when it fails."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode not in accept:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()
        error = next((line for line in said if "error" in line.lower()), said[-1])
        raise Unmeasurable(f"{' '.join(map(str, command[:3]))}: {error.strip()}")
    return done.stdout


def gcovr(*arguments: str | Path) -> None:
    """Run gcovr. Lines and branches of one source line are merged over the instances of a template."""
    run([sys.executable, "-m", "gcovr", *arguments])


def git(root: Path, *arguments: str | Path, accept: Sequence[int] = (0,)) -> str:
    """What git says about the repository at `root`. Raises Unmeasurable."""
    if shutil.which("git") is None:
        raise Unmeasurable("a change is told by git, which is not installed")
    return run(["git", "-C", root, *arguments], accept=accept)


def gcov_of(compiler: str) -> str:
    """The command that reads the counts of code which `compiler` compiled: gcov and clang's must be of its version."""
    said = re.search(r"(\d+)\.\d+", version(compiler))
    major = said.group(1) if said else ""
    if is_clang(compiler):
        found = shutil.which(f"llvm-cov-{major}") or shutil.which("llvm-cov")
        command = f"{found} gcov"
    else:
        sibling = Path(compiler).with_name(Path(compiler).name.replace("g++", "gcov").replace("c++", "gcov"))
        found = shutil.which(sibling) or shutil.which(f"gcov-{major}") or shutil.which("gcov")
        command = str(found)
    if found is None:
        raise Unmeasurable(f"there is no gcov for {compiler}: install the one of its version, {major}")
    return command
