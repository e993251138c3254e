"""Data sets made ready: the repository's own in this process, a user's where the user's code runs."""

import re
from pathlib import Path

from workloads.apart import ask
from workloads.data.download import Progress
from workloads.data.sources import DataRef, resolve
from workloads.lines import shown
from workloads.origins import origins
from workloads.plain import Ready, of_plain

_OURS = "workloads"


def ready(
    data_set: str,
    source: str,
    *,
    cache: Path,
    download: bool,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> DataRef:
    """Do what `resolve` does, wherever the data set's code may run.

    Raises:
        ValueError: what `resolve` raises, or code of a user that fails.
    """
    top = re.split("[.:]", data_set)[0]
    if top == _OURS:
        return resolve(data_set, source, cache=cache, download=download, folder=folder, progress=progress)
    known = [origin for origin in origins().values() if origin.folder and origin.top == top]
    question = {
        "ask": "data",
        "data_set": data_set,
        "source": source,
        "cache": str(cache.absolute()),
        "download": download,
        "data_folder": None if folder is None else str(folder.absolute()),
        "origins": [{"package": origin.package, "folder": origin.folder} for origin in known],
    }
    subject = f"data set {data_set!r}"
    given = ask(question, subject=subject, folder=known[0].folder if known else None, progress=progress)
    told = of_plain(Ready, given, path=subject)
    return DataRef(
        id=told.id,
        path=Path(told.path),
        description=shown(told.description),
        to_download=told.to_download and shown(told.to_download),
        train_samples=told.train_samples,
    )
