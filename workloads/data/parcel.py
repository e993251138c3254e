"""A prepared data set as one piece of bytes, for a host that has another cache."""

import io
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from workloads.data.files import locked
from workloads.data.prepared import folder_of_file, is_readable


def packed(path: Path) -> bytes:
    """The prepared file at `path`, and the photographs that it names if they lie beside it.

    Those of a folder that a user has named stay where they are.
    """
    photographs = folder_of_file(path)
    beside = sorted(photographs.rglob("*")) if photographs.parent == path.parent else []
    with io.BytesIO() as whole:
        with ZipFile(whole, "w") as archive:
            for file in (*beside, path):
                archive.write(file, file.relative_to(path.parent))
        return whole.getvalue()


def unpacked(parcel: bytes, *, cache: Path) -> Path:
    """The prepared file, in another cache: whole, or not there.

    Raises:
        ValueError: its photographs are not here, or it would write beside the cache.
    """
    with ZipFile(io.BytesIO(parcel)) as archive:
        _require_inside(archive.namelist())
        path = cache / archive.namelist()[-1]
        with locked(cache / f".{path.name}.lock"):
            if not is_readable(path):
                _extract(archive, cache, last=path.name)
    if not is_readable(path):
        raise ValueError(f"the photographs of {path.name} are not here: {folder_of_file(path)}")
    return path


def _require_inside(names: Iterable[str]) -> None:
    for name in map(PurePosixPath, names):
        if name.is_absolute() or ".." in name.parts:
            raise ValueError(f"the data archive names {str(name)!r}, which is outside the cache")


def _extract(archive: ZipFile, cache: Path, *, last: str) -> None:
    """Unpack next to the final places first; move the file that names the photographs last."""
    with TemporaryDirectory(dir=cache, prefix=f".{last}-") as beside:
        archive.extractall(beside)
        for name in dict.fromkeys(PurePosixPath(member).parts[0] for member in archive.namelist()):
            shutil.rmtree(cache / name, ignore_errors=True)
            Path(beside, name).replace(cache / name)
