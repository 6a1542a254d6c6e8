"""What is copied into tensors during a call, seen before it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def seen(look: Callable[[Any, Any], None]) -> Iterator[None]:
    """While it is open `look` is called with target and source before every `Tensor.copy_`."""
    import paddle

    original = paddle.Tensor.copy_

    def copy_(target: Any, source: Any, *others: Any, **keywords: Any) -> Any:
        look(target, source)
        return original(target, source, *others, **keywords)

    paddle.Tensor.copy_ = copy_
    try:
        yield
    finally:
        paddle.Tensor.copy_ = original
