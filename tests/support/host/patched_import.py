"""Changes to a module at its import, in interpreters that a test does not control otherwise."""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


def patch_when_imported(
    name: str,
    *,
    before: Callable[[], None] = lambda: None,
    after: Callable[[ModuleType], None],
) -> None:
    """Call a function before the module's code runs, and another with the module when it has run."""
    sys.meta_path.insert(0, _Finder(name, before, after))


class _Finder(MetaPathFinder):
    """Finder that gives one module a loader of its own."""

    def __init__(self, name: str, before: Callable[[], None], after: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._before = before
        self._after = after

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of that module with a loader that patches it; None for every other module."""
        if name != self._name:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        loader = _Loader(spec.loader, self._before, self._after)
        return importlib.util.spec_from_loader(name, loader, origin=spec.origin, is_package=False)


class _Loader(Loader):
    """Loader that calls the two functions around the module's code."""

    def __init__(
        self, loader: Loader, before: Callable[[], None], after: Callable[[ModuleType], None]
    ) -> None:
        self._loader = loader
        self._before = before
        self._after = after

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code between the two functions."""
        self._before()
        self._loader.exec_module(module)
        self._after(module)
