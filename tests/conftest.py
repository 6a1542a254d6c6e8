"""A copy of this repository under git, for tests that change it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opgold.kernels import _runtime
from opgold.kernels.build import device_library

FOLDERS = ("reference", "kernels", "cases", "harness", "package")
LITTER = shutil.ignore_patterns(".*", "__pycache__", "bench", "_runtime*.so")


class Checkout:
    """A copy of the repository under git, and an `opgold` that runs from it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        package = folder / "site" / "opgold"
        package.mkdir(parents=True)
        for name in FOLDERS:
            shutil.copytree(Path(__file__).parents[1] / name, self.root / name, ignore=LITTER)
        shutil.copy(_runtime.__file__, self.root / "kernels")
        (self.root / ".gitignore").write_text("*.so\n__pycache__/\n.opgold/\n")
        for name in FOLDERS[:-1]:
            (package / name).symlink_to(self.root / name)
        for file in (self.root / "package").glob("*.py"):
            (package / file.name).symlink_to(file)
        places = {"PYTHONPATH": str(package.parent), "OPGOLD_CACHE": str(folder / "cache")}
        emulator = device_library("cuda-emu")
        (folder / "cache").mkdir()
        (folder / "cache" / emulator.name).symlink_to(emulator)
        self.environment = os.environ | places | {"COLUMNS": "200"}
        self.git("init", "--quiet")
        self.commit()

    def git(self, *arguments):
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *author, *arguments], cwd=self.root, check=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a state")

    def edit(self, file, old, new):
        path = self.root / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new))

    def opgold(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "opgold", *map(str, arguments)],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    return Checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def checkout(built):
    yield built
    built.git("reset", "--quiet", "--hard")
    built.git("clean", "--quiet", "--force", "-d")
