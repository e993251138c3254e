"""Data sets made ready: the repository's own in this process, a user's where the user's code runs."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.apart import ask
from workloads.data.sources import DataRef, resolve
from workloads.lines import shown
from workloads.origins import origins
from workloads.plain import Ready, of_plain

if TYPE_CHECKING:
    from workloads.data.download import Progress

_OURS = "workloads"


def ready(
    data_set: str,
    source: str,
    *,
    cache: Path,
    download: bool,
    folder: Path | None = None,
    progress: "Progress | None" = None,
) -> DataRef:
    """Do what `resolve` does, wherever the data set's code may run.

    Raises:
        ValueError: what `resolve` raises, or code of a user that fails.
    """
    top = re.split("[.:]", data_set)[0]
    if top == _OURS:
        return resolve(data_set, source, cache=cache, download=download, folder=folder, progress=progress)
    siblings = [origin for origin in origins().values() if origin.folder and origin.top == top]
    question = {
        "ask": "data",
        "data_set": data_set,
        "source": source,
        "cache": str(cache.absolute()),
        "download": download,
        "data_folder": None if folder is None else str(folder.absolute()),
        "origins": [{"package": origin.package, "folder": origin.folder} for origin in siblings],
    }
    subject = f"data set {data_set!r}"
    given = ask(question, subject=subject, folder=siblings[0].folder if siblings else None, progress=progress)
    description = of_plain(Ready, given, path=subject)
    return DataRef(
        id=description.id,
        path=Path(description.path),
        description=shown(description.description),
        to_download=description.to_download and shown(description.to_download),
        train_samples=description.train_samples,
        train_tokens=description.train_tokens,
    )
