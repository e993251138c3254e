"""An error in a terminal: one line, and where that is too long a file with all of it."""

import tempfile

from rich.console import Console
from rich.text import Text

from orchestrator.core.printable import MOST_OF_AN_ERROR, cut, one_line, printable


def error_line(text: str) -> str:
    """The line. All of a long text is in a temporary file, for the command may have no folder of its own."""
    line = f"error: {one_line(text)}"
    return line if len(line) <= MOST_OF_AN_ERROR else cut(line, rest=_kept(text))


def print_error(text: str) -> None:
    """Print the line on standard error."""
    Console(stderr=True).print(Text(error_line(text)), soft_wrap=True)


def _kept(text: str) -> str:
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="orchestrator-error-", suffix=".txt", encoding="utf-8", delete=False
        ) as file:
            file.write(f"{printable(text)}\n")
    except OSError:  # the line is more than nothing
        return f"{len(text):,} characters"
    return f"all of it: {file.name}"
