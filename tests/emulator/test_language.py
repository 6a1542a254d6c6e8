"""The device language gives the vendor's results, under every schedule and both flavours."""

from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from opgold.kernels import build, runtime

UNIT = Path(__file__).parent / "kernels" / "language.cu"
MODES = [("plain", "ascending"), ("checked", "ascending"), ("checked", "descending"), ("checked", "random")]


@cache
def library(flavour: str) -> Path:
    return build.kernel_library(UNIT, target="cuda-emu", flavour=flavour)


@pytest.fixture(params=MODES, ids="-".join)
def call(request):
    flavour, schedule = request.param

    def run(op, tensors, attributes=()):
        device = runtime.device("cuda-emu")
        report = device.call(
            library(flavour), op, tensors=tensors, attributes=list(attributes), schedule=schedule, seed=1, shift=1
        )
        assert report.error is None
        assert report.faults == []
        return report

    return run


def test_halves_convert_as_numpy_does(call):
    bits = np.concatenate([np.arange(0, 1 << 32, 2_097_143, dtype=np.uint64), np.arange(0x33000000, 0x33000100)])
    edges = np.array(
        [0, -0.0, 65504, 65519.99, 65520, 2**-24, 2**-25, 2**-25 * 1.0001, 2**-14, np.inf, -np.inf, 3.4e38]
    )
    x = np.concatenate([bits.astype(np.uint32).view(np.float32), edges.astype(np.float32)])
    h, b = np.zeros(x.size, np.float16), np.zeros(x.size, ml_dtypes.bfloat16)
    back = np.zeros((x.size, 2), np.float32)
    call("convert", [("x", x, "in"), ("h", h, "out"), ("b", b, "out"), ("back", back, "out")])
    number = ~np.isnan(x)
    with np.errstate(over="ignore"):
        assert np.array_equal(h[number].view(np.uint16), x[number].astype(np.float16).view(np.uint16))
        assert np.array_equal(b[number].view(np.uint16), x[number].astype(ml_dtypes.bfloat16).view(np.uint16))
    assert np.isnan(h[~number].astype(np.float32)).all()
    assert np.isnan(b[~number].astype(np.float32)).all()
    assert np.array_equal(back[:, 0], h.astype(np.float32), equal_nan=True)
    assert np.array_equal(back[:, 1], b.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_arithmetic_rounds_each_step(call, dtype):
    x = np.linspace(-3, 5, 64).astype(dtype)
    y = np.zeros(64, dtype)
    call("half_arithmetic", [("x", x, "in"), ("y", y, "out")])
    v = ((x[:-1] + x[1:]) * x[:-1]).astype(dtype)
    assert np.array_equal(y[:-1], np.where(v > x[1:], v, -v))


def test_bit_intrinsics(call):
    x = np.array([0, 1, 2, 3, 8, 255, -1, -(2**31), 2**31 - 1, 12345], np.int32)
    y = np.zeros((x.size, 6), np.int32)
    call("bits", [("x", x, "in"), ("y", y, "out")])
    for value, row in zip(x.tolist(), y.tolist(), strict=True):
        text = f"{value & 0xFFFFFFFF:032b}"
        lowest = text[::-1].find("1") + 1
        leading = len(text) - len(text.lstrip("0"))
        turned = np.uint32(int(text[::-1], 2)).astype(np.int32)
        assert row == [text.count("1"), lowest, leading, turned, value > 3, min(value, 3)]


def test_collectives(call):
    x = np.random.default_rng(0).permutation(64).astype(np.int32)
    y = np.zeros((64, 10), np.int32)
    call("collectives", [("x", x, "in"), ("y", y, "out")])
    for thread in range(64):
        first, lane = thread // 32 * 32, thread % 32
        warp = x[first : first + 32]
        down = lane + 3 if lane % 16 + 3 < 16 else lane
        expected = [
            warp[5],
            warp[lane - 3 if lane >= 3 else lane],
            warp[down],
            warp[lane ^ 9],
            sum(int(v & 1) << i for i, v in enumerate(warp)),
            2 * (warp > 60).any() + 1,
            sum(int(v % 3 == warp[lane] % 3) << i for i, v in enumerate(warp)),
            warp.max(),
            (x % 2).sum(),
            2,
        ]
        assert y[thread].tolist() == np.array(expected, np.int64).astype(np.int32).tolist()


def test_cub(call):
    x = np.random.default_rng(1).integers(-50, 50, 192).astype(np.int32)
    y = np.zeros(192 + 64 + 2 + 4, np.int32)
    call("scans", [("x", x, "in"), ("y", y, "out")])
    own = x.reshape(64, 3)[:, 0]
    assert np.array_equal(y[:192], np.cumsum(x) - x)
    assert np.array_equal(y[192:256], np.maximum.accumulate(own))
    assert y[256:258].tolist() == [x.min(), x.sum()]
    scanned = np.cumsum(own.reshape(2, 32), axis=1).reshape(4, 16)
    assert np.array_equal(y[258:], scanned.sum(axis=1))


def test_atomics(call):
    x = np.random.default_rng(2).integers(1, 1000, 64).astype(np.int32)
    y, total = np.array([0, 0, 9999, 0, 0], np.int32), np.zeros(1, np.float32)
    call("atomics", [("x", x, "in"), ("y", y, "inout"), ("total", total, "inout")])
    assert y.tolist() == [x.sum(), x.max(), x.min(), np.bitwise_or.reduce(x), 11]
    assert total[0] == 32


def test_three_dimensions(call):
    y = np.zeros((12, 30), np.int32)
    call("where", [("y", y, "out")])
    blocks = [z * 100 + y_ * 10 + x for z in range(2) for y_ in range(3) for x in range(2)]
    threads = [z * 100 + y_ * 10 + x for z in range(3) for y_ in range(2) for x in range(5)]
    assert np.array_equal(y, 1000 * np.array(blocks)[:, None] + np.array(threads))


@pytest.mark.parametrize("replays", [0, 1, 5])
def test_graph_keeps_the_arguments_of_its_capture(call, replays):
    y = np.arange(8, dtype=np.int32)
    report = call("graph", [("y", y, "inout")], [("replays", replays)])
    assert np.array_equal(y, np.arange(8) + 3 * replays)
    assert len(report.launches) == replays


@pytest.mark.parametrize("which", range(6))
def test_shapes_of_launches(call, which):
    y = np.zeros(8, np.int32)
    report = call("shapes", [("y", y, "out")], [("which", which)])
    assert y.tolist() == [1, 2] * 4
    if which == 0:
        assert report.launches[0]["kernel"] == "pairs<int32_t, 2>"
