"""Files that commands leave on this machine: texts of long errors, and folders of killed processes."""

import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path

from orchestrator.plan.machine_state import Leftovers
from orchestrator.record.error_files import error_folder, find_errors
from orchestrator.train.process.temp_dirs import find_abandoned, parent_folder

_PREFIXES = ("orchestrator-", "ray-")


def describe_leftovers() -> tuple[Leftovers, ...]:
    """Count the errors that are kept and the folders of killed processes."""
    errors, folders = find_errors(), _find_folders()
    return (
        Leftovers(
            purpose="errors",
            path=str(error_folder()),
            num_files=len(errors),
            size_bytes=_size_bytes(errors),
        ),
        Leftovers(
            purpose="temporary",
            path=str(parent_folder()),
            num_files=len(folders),
            size_bytes=_size_bytes(path for folder in folders for path in folder.rglob("*")),
        ),
    )


def clear_leftovers() -> None:
    """Remove them. What another process removes meanwhile is no error."""
    for file in find_errors():
        file.unlink(missing_ok=True)
    for folder in _find_folders():
        shutil.rmtree(folder, ignore_errors=True)


def _find_folders() -> tuple[Path, ...]:
    return tuple(folder for prefix in _PREFIXES for folder in find_abandoned(prefix))


def _size_bytes(paths: Iterable[Path]) -> int:
    size = 0
    for path in paths:
        with contextlib.suppress(OSError):  # removed meanwhile
            size += path.lstat().st_size
    return size
