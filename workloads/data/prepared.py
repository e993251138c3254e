"""Prepared data sets: one small `.npz` in the cache, checked before it is written and before it is read."""

import os
from collections.abc import Callable
from pathlib import Path

from workloads.data.dataset import Arrays, DataSet
from workloads.data.files import locked, written_whole

_NEEDED = ("x_train", "y_train", "x_test", "y_test")


def find_path(data_set: DataSet, name: str, *, cache: Path) -> Path:
    """Return the path of the prepared file `name` of a data set, whether it exists or not."""
    return cache / f"{data_set.name}-v{data_set.version}-{name}.npz"


def prepared(data_set: DataSet, name: str, *, cache: Path, make: Callable[[], Arrays]) -> Path:
    """Return the prepared file `name` of a data set; write the arrays of `make` if no readable one is there.

    One process at a time makes files of a data set; others wait and find them.

    Raises:
        ValueError: what `make` gives is not a data set.
    """
    path = find_path(data_set, name, cache=cache)
    if not is_readable(path):
        with locked(cache / f".{data_set.name}.lock"):
            if not is_readable(path):
                _write(_checked(make(), data_set.name), path)
    return path


def find_folder(arrays: Arrays, path: Path) -> Path:
    """Return the folder of the photographs that the prepared file at `path` names, if it names any."""
    return path.parent / os.fsdecode(arrays["folder"].item() if "folder" in arrays else b"")


def folder_of_file(path: Path) -> Path:
    """Return the same of the prepared file at `path`."""
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        return find_folder(arrays, path)


def num_train_samples(path: Path) -> int:
    """Training samples in the prepared file at `path`."""
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        return len(arrays["y_train"])


def num_train_tokens(path: Path) -> int | None:
    """Tokens to train on in the prepared file at `path`; None if it holds no texts."""
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        return int(arrays["lengths_train"].sum()) if "lengths_train" in arrays else None


def _write(arrays: Arrays, path: Path) -> None:
    import numpy as np

    with written_whole(path) as partial, partial.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _checked(arrays: Arrays, name: str) -> Arrays:
    for part in ("train", "test"):
        labels = arrays[f"y_{part}"]
        samples = len(arrays.get(f"lengths_{part}", arrays[f"x_{part}"]))
        if labels.ndim != 1 or labels.dtype.kind not in "iu" or not 0 < len(labels) == samples:
            raise ValueError(
                f"data set {name!r} has {samples} {part} samples and {labels.dtype} labels of shape "
                f"{labels.shape}, expected one integer for each sample and at least one sample"
            )
    return arrays


def is_readable(path: Path) -> bool:
    """Check the archive's checksums of all arrays, and that the folder they may name exists."""
    import numpy as np

    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            whole = all(arrays[name].size for name in {*_NEEDED, *arrays})
            return whole and find_folder(arrays, path).is_dir()
    except Exception:  # noqa: BLE001  a broken archive raises almost anything
        return False
