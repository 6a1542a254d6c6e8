"""A buffer as it was when it was registered, and how what its name stands for now departs from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from opgold.harness.glue.holder import share_memory
from opgold.harness.paddle.tensors import dtype_name, to_array


class Buffer:
    """A buffer as it was. The witness is a view of its own: it keeps the memory, so that no address comes back."""

    def __init__(self, name: str, tensor: Any) -> None:
        self.name, self.tensor = name, tensor
        self.witness = tensor.unsqueeze(0)
        self.address, self.shape, self.dtype = tensor.data_ptr(), list(tensor.shape), dtype_name(tensor)
        self.capacity = tensor._holder_size()

    def departures(self, now: Any, varies: bool) -> Iterable[tuple[str, str]]:
        """(kind, message) of each way in which the tensor that the name stands for now is another."""
        kept = bool(now._is_shared_buffer_with(self.witness)) if now.size and self.witness.size else now is self.tensor
        if now is not self.tensor:
            yield "object", f"the name stands for a {'view of the buffer' if kept else 'fresh tensor'}"
        elif not kept and now.size:
            yield "storage", f"the memory was replaced: {self.capacity} bytes before, {now._holder_size()} now"
        if now.size and now.data_ptr() != self.address:
            yield "address", f"{hex(now.data_ptr())}, {hex(self.address)} before"
        shape = list(now.shape)
        if shape != self.shape and not (varies and shape[1:] == self.shape[1:] and len(shape) == len(self.shape)):
            yield "shape", f"{shape}, {self.shape} before"
        if dtype_name(now) != self.dtype:
            yield "dtype", f"{dtype_name(now)}, {self.dtype} before"

    def stale(self, now: Any, fill: float) -> tuple[int, Any] | None:
        """The first element behind the tensor's extent that is not `fill`: its index and value."""
        whole = to_array(self.witness).ravel()
        wrong = np.flatnonzero(whole[now.size :] != fill)
        if not wrong.size:
            return None
        index = int(now.size + wrong[0])
        return index, whole[index]

    def overrun(self, target: Any, source: Any) -> str:
        """What is wrong with a copy of `source` to `target`, if that is the buffer or a view of it; else nothing."""
        if target is self.tensor or target._is_shared_underline_tensor_with(self.tensor):
            need, room = source.size * target.element_size(), self.capacity - self.tensor._offset()
            return f"copy_ of {need} bytes, {room} are there" if need > room else ""
        if share_memory(target, self.witness) and source.size > target.size:
            return f"copy_ of {source.size} elements to a view of {target.size}"
        return ""

    def lost(self, now: Any, index: Any, value: Any) -> str:
        """What stands at the index in place of the value that was written there, if it does not."""
        array, want = to_array(now), np.asarray(value)
        try:
            got = array[index]
        except IndexError:
            return f"no element {_said(index)} in the extent {list(now.shape)}, expected {want.tolist()}"
        whole = np.broadcast_to(want, got.shape) if not want.ndim and got.size else want
        if np.array_equal(got, whole):
            return ""
        return f"{got.tolist()} at {_said(index)}, expected {want.tolist()}"


def _said(index: Any) -> str:
    if isinstance(index, slice):
        return f"{'' if index.start is None else index.start}:{'' if index.stop is None else index.stop}"
    return str(index)
