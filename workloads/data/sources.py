"""Where a data set comes from: real files, a declared stand-in, or a program; which one is always said."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from zipfile import BadZipFile

import numpy as np

from workloads.data.dataset import Arrays, DataSet, SourceFile
from workloads.data.files import MissingFileError, find, written_whole
from workloads.names import unknown_name


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRef:
    """A data set that is ready to be trained on.

    Attributes:
        id: `real:<sha256>`, `standin:<sha256>` or `synthetic:<version>`; the hash is that of the source file.
        path: `.npz` that `batches.load` reads.
        description: what it is, and what it is not, in one line for the screen.
    """

    id: str
    path: Path
    description: str


def default_cache() -> Path:
    """Folder of prepared data sets: `$ORCHESTRATOR_CACHE`, or `orchestrator` in the user's cache folder."""
    chosen = os.environ.get("ORCHESTRATOR_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orchestrator"


def resolve(data_set: str, source: str, *, cache: Path, download: bool) -> DataRef:
    """Make a data set ready and say what it is.

    Args:
        data_set: `module:attribute` of a `DataSet`.
        source: `real`, `standin`, `synthetic`, or `auto`: the real one if it can be had, else the stand-in.
        cache: folder for downloaded and prepared files; several processes may share it.
        download: try the internet, for a few seconds, where the real file is not on this machine.

    Raises:
        ValueError: unknown data set or source, or files that are missing or wrong; says what is possible.
    """
    return prepare(_data_set_at(data_set), source, cache=cache, download=download)


def _data_set_at(path: str) -> DataSet:
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"data set {path!r} cannot be loaded: {error}; expected module:attribute") from error
    if not isinstance(found, DataSet):
        raise ValueError(f"data set {path!r} is a {type(found).__name__}, expected a DataSet")
    return found


def prepare(data_set: DataSet, source: str, *, cache: Path, download: bool) -> DataRef:
    """Do the same as `resolve`, for a data set that is given as a value."""
    prepared: dict[str, Callable[[], DataRef]] = {
        "auto": lambda: _auto(data_set, cache=cache, download=download),
        "real": lambda: _from_file(data_set, data_set.real, kind="real", cache=cache, download=download),
        "standin": lambda: _from_file(
            data_set, data_set.standin, kind="standin", cache=cache, download=False
        ),
        "synthetic": lambda: _synthetic(data_set, cache=cache),
    }
    if source not in prepared:
        raise unknown_name("data.source", source, known=prepared)
    try:
        return prepared[source]()
    except OSError as error:
        raise ValueError(
            f"data cache {str(cache)!r} cannot be used: {error}; set ORCHESTRATOR_CACHE"
        ) from error


def _auto(data_set: DataSet, *, cache: Path, download: bool) -> DataRef:
    try:
        return _from_file(data_set, data_set.real, kind="real", cache=cache, download=download)
    except MissingFileError as error:
        no_real = error
    try:
        standin = _from_file(data_set, data_set.standin, kind="standin", cache=cache, download=False)
    except MissingFileError as no_standin:
        raise ValueError(f"data set {data_set.name!r} cannot be had: {no_real}; {no_standin}") from no_standin
    return replace(standin, description=f"{standin.description}; not the full set: {no_real.tried}")


def _from_file(data_set: DataSet, file: SourceFile, *, kind: str, cache: Path, download: bool) -> DataRef:
    def read() -> Arrays:
        return file.read(find(file, cache=cache, download=download))

    identity = f"{kind}:{file.sha256}"
    return DataRef(
        id=identity,
        path=_prepared(data_set, identity, cache=cache, read=read),
        description=file.description,
    )


def _synthetic(data_set: DataSet, *, cache: Path) -> DataRef:
    identity = f"synthetic:{data_set.synthetic.version}"
    return DataRef(
        id=identity,
        path=_prepared(data_set, identity, cache=cache, read=data_set.synthetic.draw),
        description=data_set.synthetic.description,
    )


def _prepared(data_set: DataSet, identity: str, *, cache: Path, read: Callable[[], Arrays]) -> Path:
    """The prepared file, made by `read` unless a readable one is there."""
    path = cache / f"{data_set.name}-v{data_set.version}-{identity.replace(':', '-')}.npz"
    if not _is_readable(path):
        arrays = read()
        with written_whole(path) as partial, partial.open("wb") as file:
            np.savez(
                file,
                x_train=arrays["x_train"],
                y_train=arrays["y_train"],
                x_test=arrays["x_test"],
                y_test=arrays["y_test"],
            )
    return path


def _is_readable(path: Path) -> bool:
    """Whether all arrays are there and pass the checksums that the archive holds."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return all(arrays[name].size for name in ("x_train", "y_train", "x_test", "y_test"))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return False
