"""Builds the package: four top-level folders become subpackages of `opgold`, and the pybind11 runtime is compiled."""

from pathlib import Path

from pybind11.setup_helpers import Pybind11Extension, build_ext
from setuptools import find_packages, setup

FOLDERS = ("reference", "kernels", "cases", "harness")
NO_DATA = {".py", ".pyc", ".so"}


def packages() -> dict[str, str]:
    """Import name of every package, and its folder."""
    found = {"opgold": "package"}
    for folder in FOLDERS:
        found[f"opgold.{folder}"] = folder
        found |= {f"opgold.{folder}.{name}": f"{folder}/{name.replace('.', '/')}" for name in find_packages(folder)}
    return found


def data(folder: str) -> list[str]:
    """Files besides Python modules: sources of kernels, headers, cases; those of folders that are no packages, too."""
    root = Path(folder)
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.suffix not in NO_DATA]


PACKAGES = packages()

setup(
    packages=list(PACKAGES),
    package_dir=PACKAGES,
    package_data={name: data(folder) for name, folder in PACKAGES.items()},
    ext_modules=[
        Pybind11Extension(
            "opgold.kernels._runtime",
            ["kernels/bindings/runtime.cc"],
            include_dirs=["kernels"],
            depends=["kernels/bindings/abi.h"],
            cxx_std=17,
        )
    ],
    cmdclass={"build_ext": build_ext},
)
