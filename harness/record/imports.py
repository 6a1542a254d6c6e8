"""Tells when a module has been imported. Standard library alone: every process of a recorded program imports this."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class Watch(MetaPathFinder):
    """Calls `imported` with the module of that name each time that its code has run, before anybody sees it. Finds
    nothing itself: it asks the finders behind it."""

    def __init__(self, name: str, imported: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._imported = imported
        self._asking = threading.local()

    def start(self) -> None:
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name or getattr(self._asking, "now", False):
            return None
        self._asking.now = True
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = find(fullname, path, target) if find and finder is not self else None
                if spec is not None:
                    if spec.loader is not None:
                        self._follow(spec.loader)
                    return spec
        finally:
            self._asking.now = False
        return None

    def _follow(self, loader: Loader) -> None:
        """Be told when `loader` has run the module. It stays the module's loader, and is itself again then."""
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            ours = module.__name__ == self._name
            if ours:
                vars(loader).pop("exec_module", None)
            run(module)
            if ours:
                self._imported(sys.modules.get(self._name, module))

        try:
            loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:
            return  # a loader without attributes loads modules of the interpreter's own
