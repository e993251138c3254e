"""A checkpoint on disk: named arrays and their metadata. Never a pickle.

`<step>-<sha256 of meta.json>/` holds `arrays.npz` and `meta.json`, which has the hash of the arrays: any
damage on the way contradicts the folder's name.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.core import codec
from orchestrator.core.errors import RecordError
from orchestrator.core.trial_progress import Evaluation
from workloads.script.file_hash import hash_whole

VERSION = 1
"""Raised when checkpoints of earlier versions of this code can no longer be gone on from."""

META = "meta.json"
ARRAYS = "arrays.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingProgress:
    """Progress of a training at a checkpoint.

    Attributes:
        step: optimizer steps taken: the index of the next one, and so the place in data and noise.
        phase: the phase of the training that took the last of them.
        samples: samples trained by every rank; by rank 0 if the ranks have unequal shares.
        training_seconds: time from the first step, without evaluations and checkpoints; of rank 0.
        network_losses: (step, loss) pairs of each network that were read.
        evaluations: on the way to a target.
    """

    step: int
    phase: str
    samples: int
    training_seconds: float
    network_losses: Mapping[str, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    evaluations: tuple[Evaluation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """Metadata of a checkpoint's arrays.

    Attributes:
        trial_id: id of the trial, which includes the number of workers; only that trial loads it.
        packages: the framework's, with their versions.
        arrays_sha256: SHA-256 of the file of the arrays.
    """

    trial_id: str
    packages: Mapping[str, str]
    arrays_sha256: str
    progress: TrainingProgress
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint that was read and matches its name."""

    progress: TrainingProgress
    arrays: Mapping[str, npt.NDArray[Any]]


def write(
    parent: Path,
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    trial_id: str,
    packages: Mapping[str, str],
    progress: TrainingProgress,
) -> Path:
    """Write a checkpoint into a folder of its own in `parent`, whole or not at all under its name."""
    unnamed = parent / "unfinished"
    unnamed.mkdir(exist_ok=True)
    with (unnamed / ARRAYS).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        _to_disk(file)
    meta = codec.to_json(
        Meta(
            trial_id=trial_id,
            packages=packages,
            arrays_sha256=hash_whole(unnamed / ARRAYS),
            progress=progress,
        )
    ).encode()
    with (unnamed / META).open("wb") as file:
        file.write(meta)
        _to_disk(file)
    return unnamed.rename(parent / f"{progress.step:012d}-{hashlib.sha256(meta).hexdigest()}")


def read_meta(folder: Path) -> Meta:
    """Read the metadata of a checkpoint after checking the hashes of both of its files.

    Raises:
        RecordError: a file is missing, cut off or changed.
    """
    try:
        meta = (folder / META).read_bytes()
        whole = hashlib.sha256(meta).hexdigest() == folder.name.rpartition("-")[2]
        decoded = codec.from_json(Meta, meta) if whole else None
        if decoded is not None and hash_whole(folder / ARRAYS) == decoded.arrays_sha256:
            return decoded
    except OSError as error:
        raise RecordError(f"{_called(folder)} cannot be read: {error.strerror}") from error
    raise RecordError(f"{_called(folder)} is damaged: its hash is another")


def read(folder: Path, *, trial_id: str, packages: Mapping[str, str]) -> Checkpoint:
    """Read a checkpoint of this very trial.

    Raises:
        RecordError: it is damaged, of another trial, or of other versions of this code or the framework, or
            holds something else than arrays.
    """
    meta = read_meta(folder)
    expected = {"trial": trial_id, "checkpoints' version": VERSION, "packages": dict(packages)}
    actual = {"trial": meta.trial_id, "checkpoints' version": meta.version, "packages": dict(meta.packages)}
    for what, value in expected.items():
        if actual[what] != value:
            raise RecordError(f"{_called(folder)} is of {what} {actual[what]}; this is {value}")
    try:
        with (folder / ARRAYS).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return Checkpoint(progress=meta.progress, arrays=dict(arrays))
    except Exception as error:  # an archive that is none, or is not what it says, raises almost anything
        raise RecordError(f"{_called(folder)} cannot be read: {error}") from error


def _called(folder: Path) -> str:
    step = folder.name.partition("-")[0].lstrip("0")
    return f"the checkpoint of step {step}"


def _to_disk(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
