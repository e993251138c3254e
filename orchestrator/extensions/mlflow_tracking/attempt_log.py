"""Output of the workers of a failed attempt: the files that its run in MLflow has, and their text."""

import os
from collections.abc import Sequence
from pathlib import Path

from orchestrator.core.result import TrialRecord

_LARGEST_BYTES = 10_000_000  # of a file that is sent


def find_log_files(record: TrialRecord, folder: Path) -> tuple[Path, ...]:
    """Return the log files of an attempt that can be read here; a far node may have written others.

    Args:
        folder: folder of the sweep.
    """
    if record.log_path is None:
        return ()
    files = sorted((folder / record.log_path).glob("*.log"))
    return tuple(file for file in files if _can_be_sent(file))


def find_log_text(files: Sequence[Path]) -> str:
    """Return the text of the first file, the log of rank 0; empty without one."""
    return files[0].read_text(encoding="utf-8", errors="replace") if files else ""


def _can_be_sent(file: Path) -> bool:
    try:
        return file.is_file() and 0 < file.stat().st_size <= _LARGEST_BYTES and os.access(file, os.R_OK)
    except OSError:
        return False
