"""Workers fold onto the devices that the caller left visible."""

import os
import subprocess

import pytest

from opgold.harness import devices


@pytest.fixture
def three_gpus(tmp_path, monkeypatch):
    script = tmp_path / "nvidia-smi"
    lines = "\n".join(f"GPU {i}: Some GPU (UUID: GPU-{i}{i})" for i in range(3))
    script.write_text(f"#!/bin/sh\ncat <<E\n{lines}\n  MIG 1g.10gb Device 0: (UUID: MIG-1)\nE\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("2", ["2"]),
        ("3, 1", ["3", "1"]),
        ("0,-1,1", ["0"]),
        ("GPU-8932f937,MIG-a/1/0", ["GPU-8932f937", "MIG-a/1/0"]),
    ],
)
def test_the_callers_list_is_read_as_cuda_reads_it(given, names):
    assert devices.visible({devices.VARIABLE: given}) == names


def test_without_a_list_the_driver_is_asked(three_gpus):
    assert devices.visible({}) == ["0", "1", "2"]


@pytest.mark.parametrize("script", ["exit 9", "echo 'GPU 0: x'; exit 1"])
def test_a_driver_that_fails_means_no_device(script, tmp_path, monkeypatch):
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert devices.visible({}) == []


def test_no_driver_means_no_device(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert devices.visible({}) == []


@pytest.mark.parametrize(("name", "index"), [("gw0", 0), ("gw13", 13), ("master", None), ("", None), ("gwx", None)])
def test_worker_index(name, index):
    assert devices.worker_index({devices.WORKER: name}) == index


@pytest.mark.parametrize(("worker", "chosen"), [("gw0", "GPU-a"), ("gw1", "5"), ("gw2", "GPU-a"), ("gw7", "5")])
def test_many_workers_fold_onto_few_devices(worker, chosen):
    environment = {devices.VARIABLE: "GPU-a,5", devices.WORKER: worker, "OTHER": "kept"}
    narrowed = devices.narrowed(environment)
    assert narrowed == {**environment, devices.VARIABLE: chosen}
    assert devices.narrowed(narrowed) == narrowed


def test_without_devices_nothing_is_chosen():
    assert devices.narrowed({devices.VARIABLE: "", devices.WORKER: "gw1"})[devices.VARIABLE] == ""


def test_only_a_worker_narrows_itself(monkeypatch):
    monkeypatch.setenv(devices.VARIABLE, "4,6")
    monkeypatch.delenv(devices.WORKER, raising=False)
    devices.narrow_worker()
    assert os.environ[devices.VARIABLE] == "4,6"
    monkeypatch.setenv(devices.WORKER, "gw1")
    devices.narrow_worker()
    assert os.environ[devices.VARIABLE] == "6"


def test_a_child_inherits_the_choice(monkeypatch):
    monkeypatch.setenv(devices.VARIABLE, "4,6")
    monkeypatch.setenv(devices.WORKER, "gw3")
    shown = subprocess.run(
        ["printenv", devices.VARIABLE], env=devices.narrowed(), capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "6"


def test_worker_limit(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    assert devices.worker_limit(["0"]) == 4
    assert devices.worker_limit(["0", "1"], per_device=3) == 6
    assert devices.worker_limit([str(i) for i in range(8)]) == 16
    assert devices.worker_limit([]) is None
