"""A user's own workload in a folder of a test, and nothing of it left for the next test."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from workloads.origins import PATH_VARIABLE
from workloads.registry import forget

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
        patch.setenv(PATH_VARIABLE, str(folder))
        try:
            yield
        finally:
            forget()
            tops = {path.name for path in folder.iterdir()}
            for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
                del sys.modules[name]


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Path in `folder` -> its text."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
