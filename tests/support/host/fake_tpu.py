"""A TPU host made of PJRT's CPU devices, for torch_xla trials that believe in it.

`plant` runs in a worker's interpreter. When the trainer is imported, PJRT's CPU client gets as many devices
as the TPU has chips, and the trainer calls their kind `tpu`. All other code is the product's and torch_xla's.
"""

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

TRAINER = "orchestrator.train.trainers.torch_xla_trainer"


def sitecustomize(*, chips: int, support: Sequence[str]) -> str:
    """Return the code of a `sitecustomize.py` that plants the TPU in every interpreter."""
    return (
        f"import sys\nsys.path.extend({list(support)!r})\nimport fake_tpu\nfake_tpu.plant({chips})\n"
        f"sys.path[-{len(support)}:] = []\n"
    )


def plant(chips: int) -> None:
    """Replace the TPU's driver from the import of the trainer on."""
    sys.meta_path.insert(0, _Finder(chips))


class _Finder(MetaPathFinder):
    """Finder that gives the trainer's module a loader of its own."""

    def __init__(self, chips: int) -> None:
        self._chips = chips

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the trainer's spec with a loader that patches it; None for every other module."""
        if name != TRAINER:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        return importlib.util.spec_from_loader(
            name, _Loader(spec.loader, self._chips), origin=spec.origin, is_package=False
        )


class _Loader(Loader):
    """Loader that starts PJRT's CPU client in the TPU's place."""

    def __init__(self, loader: Loader, chips: int) -> None:
        self._loader = loader
        self._chips = chips

    def exec_module(self, module: ModuleType) -> None:
        """Run the trainer's module, then replace the kind that PJRT reports. Fork servers have no device."""
        if os.environ.get("PJRT_DEVICE") == "TPU":
            os.environ.update(PJRT_DEVICE="CPU", CPU_NUM_DEVICES=str(self._chips))
        self._loader.exec_module(module)
        module._KINDS = {"CPU": "tpu"}
