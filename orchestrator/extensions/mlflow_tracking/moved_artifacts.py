"""Places of artifacts in an MLflow database, which name the old folder when it is moved or copied."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

_PLACES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
)
"""Tables and their columns that hold places of artifacts."""


def local_folder(uri: str) -> Path | None:
    """Return the folder of artifacts; None where it is not on this host."""
    address = urlsplit(uri)
    if address.scheme not in ("", "file") or address.netloc:
        return None
    folder = Path(url2pathname(address.path) if address.scheme else uri)
    return folder if folder.is_absolute() else None


def relocate_artifacts(database: Path) -> None:
    """Point a database at the artifacts that lie beside it, if its folder was moved or copied.

    Artifacts that lie at the old place alone stay there. A database that cannot be written, or is not one of
    MLflow, stays as it is.

    Args:
        database: absolute path.
    """
    with contextlib.suppress(sqlite3.Error), closing(sqlite3.connect(database)) as connection:
        roots = set(_find_old_roots(connection, database.parent))
        if roots:
            with connection:
                _relocate(connection, roots, here=database.parent)


def _find_old_roots(connection: sqlite3.Connection, here: Path) -> Iterator[Path]:
    """Yield the folders that `here` was before: artifacts of the same runs lie below both."""
    for experiment_id, place in connection.execute(
        "SELECT experiment_id, artifact_location FROM experiments"
    ):
        folder = local_folder(str(place))
        if folder is None or folder.is_relative_to(here):
            continue
        runs = connection.execute("SELECT run_uuid FROM runs WHERE experiment_id = ?", (experiment_id,))
        names = [name for (name,) in runs]
        for root in folder.parents:
            if _has_any(here / folder.relative_to(root), names):
                yield root
                break


def _has_any(folder: Path, names: Iterable[str]) -> bool:
    try:
        return not {path.name for path in folder.iterdir()}.isdisjoint(names)
    except OSError:
        return False


def _relocate(connection: sqlite3.Connection, roots: Iterable[Path], *, here: Path) -> None:
    for table, column in _PLACES:
        query = f"SELECT rowid, {column} FROM {table}"  # noqa: S608  names of this module
        found = connection.execute(query).fetchall()
        changed = [(new, row) for row, place in found if (new := _relocated(str(place), roots, here=here))]
        connection.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed)  # noqa: S608


def _relocated(place: str, roots: Iterable[Path], *, here: Path) -> str | None:
    """Return the place beside the database; None for one that stays."""
    old = local_folder(place)
    if old is None or old.is_relative_to(here):
        return None
    for root in roots:
        if old.is_relative_to(root):
            new = here / old.relative_to(root)
            if new.exists() or not old.exists():
                return new.as_uri() if place.startswith("file:") else str(new)
    return None
