"""An error in a terminal: one line, and where that is too long a file with all of it."""

from rich.console import Console
from rich.text import Text

from orchestrator.core.printable import MOST_OF_AN_ERROR, cut, one_line, without_secrets
from orchestrator.record.error_files import keep_error


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
        return f"all of it: {keep_error(text)}"
    except OSError:  # the line is more than nothing
        return f"{len(text):,} characters"
