from collections.abc import Sequence

import numpy as np

class Library:
    def __init__(self, path: str, share_symbols: bool = False) -> None: ...

class DeviceArray:
    def __init__(self, address: int, shape: Sequence[int], dtype: str) -> None: ...
    @property
    def address(self) -> int: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def dtype(self) -> str: ...

_Tensors = Sequence[tuple[str, np.ndarray | DeviceArray | None, str]]
_Attributes = Sequence[tuple[str, bool | int | float]]

class Device:
    def __init__(self, path: str, kind: int) -> None: ...
    def unavailable(self) -> str: ...
    def call(
        self,
        library: Library,
        op: str,
        tensors: _Tensors,
        attributes: _Attributes,
        schedule: int,
        shift: int,
        seed: int,
        step_limit: int,
        time_limit: float,
        clusters: int,
        cores: int,
        copies: int,
        barriers: int,
    ) -> str: ...
    def upload(self, source: np.ndarray) -> DeviceArray: ...
    def release(self, array: DeviceArray) -> None: ...
    def time(
        self,
        library: Library,
        op: str,
        tensors: _Tensors,
        attributes: _Attributes,
        launches: int,
        samples: int,
    ) -> list[float]: ...
