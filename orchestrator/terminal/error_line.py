"""An error in a terminal: one line, and where that is too long a file with all of it."""

import tempfile

from rich.console import Console
from rich.text import Text

from orchestrator.core.printable import MOST_OF_AN_ERROR, cut, one_line, printable, without_secrets
from workloads.data.sources import default_cache

_MOST_FILES = 20
"""So many long errors are kept in the cache; the oldest goes first."""


def error_line(text: str) -> str:
    """The line, without secrets. All of a long text is in a file of the cache, for the command may have
    no folder of its own.
    """
    text = without_secrets(text)
    line = f"error: {one_line(text)}"
    return line if len(line) <= MOST_OF_AN_ERROR else cut(line, rest=_kept(text))


def print_error(text: str) -> None:
    """Print the line on standard error."""
    Console(stderr=True).print(Text(error_line(text)), soft_wrap=True)


def _kept(text: str) -> str:
    try:
        folder = default_cache() / "errors"
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob("*.txt"), key=lambda path: path.stat().st_mtime)[: -_MOST_FILES + 1]:
            old.unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, suffix=".txt", encoding="utf-8", delete=False
        ) as file:
            file.write(f"{printable(text)}\n")
    except OSError:  # the line is more than nothing
        return f"{len(text):,} characters"
    return f"all of it: {file.name}"
