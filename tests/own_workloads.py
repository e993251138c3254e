"""A user's own workload in a folder of a test, and nothing of it left for the next test."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from hydra.core.config_store import ConfigStore

from workloads import origins

SPEC = """\
from dataclasses import dataclass
from workloads.data.need import DataNeed
from workloads.layers import Custom, Dense
from workloads.network import sequential
from workloads.spec import Quality, Sgd, classifier
VERSION = 3
@dataclass(frozen=True)
class Options:
    units: int = 5
def make(options):
    layers = (Dense(units=options.units), Dense(units=10))
    return classifier(
        "mine",
        sequential((28, 28, 1), *layers),
        version=VERSION,
        optimizer=Sgd(learning_rate=0.1),
        data=DataNeed(data_set="workloads.data.mnist:MNIST"),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=0.5),
    )
"""
"""A workload `mine`, in as few lines as it takes."""


@contextmanager
def searched(folder: Path) -> Iterator[None]:
    """Look for workloads in `folder`, and forget afterwards what was imported from there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(origins.PATH_VARIABLE, str(folder))
        try:
            yield
        finally:
            forget(folder)


def forget(folder: Path) -> None:
    """Neither modules from there nor config options named like what lies there are left."""
    origins._origins.cache_clear()
    options = ConfigStore.instance().repo.get("workload", {})
    for name in (each.name for each in folder.glob("*")):
        options.pop(f"{name}.yaml", None)
        options.pop(f"{name}_schema.yaml", None)
    for name in [name for name, module in [*sys.modules.items()] if lies_in(folder, module)]:
        del sys.modules[name]


def lies_in(folder: Path, module: ModuleType) -> bool:
    places = (getattr(module, "__file__", None), *getattr(module, "__path__", ()))
    return any(str(each).startswith(f"{folder}/") for each in places)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Path in `folder` -> its text."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
