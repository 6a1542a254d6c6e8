"""Builds the package: four top-level folders become subpackages of `opgold`, and the pybind11 runtime is compiled."""

from pathlib import Path

from pybind11.setup_helpers import Pybind11Extension, build_ext
from setuptools import find_packages, setup

FOLDERS = ("reference", "kernels", "cases", "harness")
DATA = ("*.cu", "*.cuh", "*.h", "*.cc", "*.xpu", "*.yaml", "*.npz", "*.toml", "*.typed", "*.pyi")


def packages() -> dict[str, str]:
    """Import name of every package, and its folder."""
    found = {"opgold": "package"}
    for folder in FOLDERS:
        found[f"opgold.{folder}"] = folder
        found |= {f"opgold.{folder}.{name}": f"{folder}/{name.replace('.', '/')}" for name in find_packages(folder)}
    return found


def data(folder: str) -> list[str]:
    """Files besides Python modules that a package needs, those of folders that are no packages included."""
    root = Path(folder)
    return [str(path.relative_to(root)) for pattern in DATA for path in root.rglob(pattern)]


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
