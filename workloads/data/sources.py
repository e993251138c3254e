"""Sources of a data set: real files, a declared stand-in, or a program. Every use reports its source."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from workloads.data.dataset import Arrays, DataSet, Published, UserFolder
from workloads.data.need import DataNeed
from workloads.data.prepared import find_path, num_train_samples, num_train_tokens, prepared
from workloads.data.published import Means, MissingDataError, find
from workloads.names import unknown_name

if TYPE_CHECKING:
    from workloads.data.download import Progress

NO_FILE = "."
"""Path of data that have no prepared file: a native job's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRef:
    """A data set that is ready to be trained on.

    Attributes:
        id: `<kind>:<data set>-v<version>:<content>`: the content is the hash of the source, or the version of
            the program that draws. Two refs of one id hold the same samples.
        path: `.npz` that `batches.load` reads; where that must be downloaded, it is not there yet.
        description: what the data set is and is not, in one line for the screen.
        to_download: first download to try if downloads are allowed; None if there is none.
        missing: why the real data is not used where it could be; empty if it is, or was not asked for.
        train_samples: size of the full training set, also for a stand-in; None if unknown.
        train_tokens: tokens to train on in a user's folder of texts; None for other data.
    """

    id: str
    path: Path
    description: str
    to_download: str | None = None
    missing: str = ""
    train_samples: int | None = None
    train_tokens: int | None = None

    def count_samples_of_set(self, need: DataNeed) -> int | None:
        """Return the size of the full training set in a workload's own samples; None if unknown.

        Samples of a language model are windows of the running text.
        """
        if need.targets == "labels":
            return self.train_samples
        tokens = need.train_tokens if self.train_tokens is None else self.train_tokens
        if tokens is None or need.sequence_length is None:
            return None
        return max(1, tokens // need.sequence_length)


def default_cache() -> Path:
    """Folder of prepared data sets: `$ORCHESTRATOR_CACHE`, or `orchestrator` in the user's cache folder."""
    chosen = os.environ.get("ORCHESTRATOR_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orchestrator"


def resolve(
    data_set: str,
    source: str,
    *,
    cache: Path,
    download: bool,
    folder: Path | None = None,
    progress: "Progress | None" = None,
) -> DataRef:
    """Prepare a data set and return its reference.

    Args:
        data_set: `module:attribute` of a `DataSet`.
        source: `real`, `standin`, `synthetic`, or `auto`: the real one if it can be had, else a stand-in of
            real data, else the synthetic one.
        cache: folder for downloaded and prepared files; several processes may share it.
        download: try the internet where a file is not on this machine.
        folder: folder of a data set that its user brings.
        progress: receives the progress of downloads.

    Raises:
        ValueError: unknown data set or source, or files that are missing or wrong, with the possible ones.
    """
    means = Means(cache=cache, download=download, folder=folder, progress=progress)
    return prepare(data_set_at(data_set), source, means)


def prepare(data_set: DataSet, source: str, means: Means) -> DataRef:
    """Do the same as `resolve`, for a data set that is given as a value."""
    if source not in _WAYS:
        raise unknown_name("data.source", source, known=_WAYS)
    try:
        return _WAYS[source](data_set, means)
    except MissingDataError as error:
        if error.untried is None:
            raise
        return _promised(data_set, error.untried, kind=source, cache=means.cache)
    except OSError as error:
        raise ValueError(
            f"data cache {str(means.cache)!r} cannot be used: {error}; set ORCHESTRATOR_CACHE"
        ) from error


def data_set_at(path: str) -> DataSet:
    """Return the data set at `module:attribute`. Raises ValueError if it does not exist."""
    try:
        source = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"data set {path!r} cannot be loaded: {error}; expected module:attribute") from error
    if not isinstance(source, DataSet):
        raise ValueError(f"data set {path!r} is a {type(source).__name__}, expected a DataSet")
    return source


def _auto(data_set: DataSet, means: Means) -> DataRef:
    try:
        return _real(data_set, means)
    except MissingDataError as error:
        missing, untried = ", ".join(error.tried), error.untried
    if data_set.standin is not None:
        try:
            return _but(_standin(data_set, means), missing, untried)
        except MissingDataError as error:
            missing += f"; nor its stand-in: {', '.join(error.tried)}"
            untried = untried or error.untried
    return _but(_synthetic(data_set, means), missing, untried)


def _but(ref: DataRef, missing: str, untried: Published | None) -> DataRef:
    return replace(
        ref,
        description=f"{ref.description}; not the real data (data.source=real tells why)",
        missing=missing,
        to_download=untried.description if untried else None,
    )


def _promised(data_set: DataSet, published: Published, *, kind: str, cache: Path) -> DataRef:
    """Describe the result of a download; its hash names it before it is downloaded."""
    return DataRef(
        id=_build_id(data_set, kind, content=published.identity),
        path=find_path(data_set, f"{kind}-{published.identity}", cache=cache),
        description=published.description,
        to_download=published.description,
        train_samples=data_set.train_samples,
    )


def _real(data_set: DataSet, means: Means) -> DataRef:
    if isinstance(data_set.real, UserFolder):
        return _from_folder(data_set, data_set.real, means)
    if means.folder is not None:
        raise ValueError(f"data set {data_set.name!r} is not read from a folder, so remove data_folder")
    missing: list[MissingDataError] = []
    for attempt in (replace(means, download=False), means):
        missing.clear()
        for form in data_set.real:
            try:
                return _from_files(data_set, form, attempt, kind="real")
            except MissingDataError as error:
                missing.append(error)
    raise _list_all(missing, data_set)


def _list_all(missing: list[MissingDataError], data_set: DataSet) -> MissingDataError:
    """Return one error: where the preferred form was searched, and the faults of files of other forms."""
    if not missing:
        return MissingDataError(
            f"data set {data_set.name!r}",
            tried=("there are no real files",),
            wrong=(),
            cure="set data.source=synthetic",
        )
    first, *others = missing
    wrong = tuple(trouble for error in others for trouble in error.wrong)
    return MissingDataError(
        first.description, tried=(*first.tried, *wrong), wrong=wrong, cure=first.cure, untried=first.untried
    )


def _standin(data_set: DataSet, means: Means) -> DataRef:
    if data_set.standin is None:
        raise ValueError(
            f"data set {data_set.name!r} has no stand-in of real data; set data.source=synthetic"
        )
    return _from_files(data_set, data_set.standin, means, kind="standin")


def _from_files(data_set: DataSet, published: Published, means: Means, *, kind: str) -> DataRef:
    path = prepared(
        data_set,
        f"{kind}-{published.identity}",
        cache=means.cache,
        make=lambda: _read(published, find(published, means)),
    )
    identity = _build_id(data_set, kind, content=published.identity)
    return DataRef(
        id=identity,
        path=path,
        description=published.description,
        train_samples=data_set.train_samples,
    )


def _read(published: Published, paths: tuple[Path, ...]) -> Arrays:
    try:
        return published.read(paths)
    except Exception as error:  # a broken file raises almost anything
        line = str(error).partition("\n")[0]
        raise ValueError(f"{published.description}: {paths[0]} cannot be read: {line}") from error


def _from_folder(data_set: DataSet, layout: UserFolder, means: Means) -> DataRef:
    if means.folder is None:
        raise MissingDataError(layout.description, tried=("no folder is given",), wrong=(), cure=layout.cure)
    folder = means.folder.resolve()
    identity = layout.identify(folder)
    place = hashlib.sha256(os.fsencode(folder)).hexdigest()  # the prepared file names the folder
    path = prepared(
        data_set,
        f"real-{identity}-{place[:12]}",
        cache=means.cache,
        make=lambda: layout.read(folder),
    )
    return DataRef(
        id=_build_id(data_set, "real", content=identity),
        path=path,
        description=f"{layout.description} in {folder}",
        train_samples=num_train_samples(path),
        train_tokens=num_train_tokens(path),
    )


def _synthetic(data_set: DataSet, means: Means) -> DataRef:
    version = data_set.synthetic.version
    path = prepared(
        data_set,
        f"synthetic-{version}",
        cache=means.cache,
        make=lambda: data_set.synthetic.make(means.cache),
    )
    identity = _build_id(data_set, "synthetic", content=str(version))
    return DataRef(
        id=identity,
        path=path,
        description=data_set.synthetic.description,
        train_samples=data_set.train_samples,
    )


def _build_id(data_set: DataSet, kind: str, *, content: str) -> str:
    """The same files of another set, or read in another way, are other data."""
    return f"{kind}:{data_set.name}-v{data_set.version}:{content}"


_WAYS: Mapping[str, Callable[[DataSet, Means], DataRef]] = {
    "auto": _auto,
    "real": _real,
    "standin": _standin,
    "synthetic": _synthetic,
}
SOURCES = tuple(_WAYS)
"""Where data may be asked for."""
