"""A worker whose device misbehaves as the op's name asks."""

import os
import signal
import sys
import time

import numpy as np

from opgold.harness.backends import worker
from opgold.kernels.report import Report


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


class Planted:
    unavailable = ""

    def call(self, op, tensors, limit):
        if op == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif op == "leave":
            os._exit(3)
        elif op == "hang":
            time.sleep(60)
        elif op == "refuse":
            raise ValueError("y: array is not contiguous")
        elif op == "odd":
            raise Unpicklable("no", "way")
        elif op == "print":
            print("printed by a kernel", flush=True)
        for _, array, direction in tensors:
            if array is not None and direction != "in":
                np.add(array, 1, out=array)
        return Report(None, 0.0, addresses={"pid": os.getpid()})


def open_device(target):
    if target == "broken":
        os.abort()
    if target == "missing":
        raise FileNotFoundError("no such target")
    return Planted()


worker.main(*sys.argv[1:], open_device=open_device)
