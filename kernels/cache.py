"""The cache of compiled libraries: one file for each content, made once however many ask for it."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """Where libraries are kept: $OPGOLD_CACHE, or the platform's cache directory."""
    chosen = os.environ.get("OPGOLD_CACHE")
    if chosen:
        return Path(chosen).expanduser().resolve()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "opgold"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opgold"


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """The library of that name; `build` makes it at a path that it is given, unless it was made before."""
    directory = cache_directory()
    library = directory / f"{name}.so"
    if library.exists():
        return library
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory / f"{name}.lock"):
        if not library.exists():
            descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=f"{name}.", suffix=".so.part")
            os.close(descriptor)
            try:
                build(Path(temporary))
                os.chmod(temporary, 0o755)
                os.replace(temporary, library)
            finally:
                Path(temporary).unlink(missing_ok=True)
    return library


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
