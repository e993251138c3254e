"""Output of a command: standard output for results, standard error for errors and progress."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from orchestrator.analysis.table import Table
from orchestrator.core.printable import printable
from orchestrator.terminal.error_line import print_error

# pandas takes a second to import, and commands without tables do without it: hence imports in functions


class Screen:
    """Screen of a command.

    Attributes:
        console: console of standard output.
    """

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, text: str) -> None:
        """Print one line."""
        from orchestrator.terminal.printing import print_line

        print_line(self.console, text)

    def table(self, table: Table) -> None:
        """Print a table."""
        from orchestrator.terminal.printing import print_table

        print_table(self.console, table)

    def error(self, text: str) -> None:
        """Print one line on standard error; a long text goes to a temporary file that the line names."""
        print_error(text)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show what is waited for on standard error as long as it takes, where that is a terminal."""
        with Console(stderr=True).status(Text(printable(text), style="dim"), refresh_per_second=2):
            yield

    def progress(self, text: str) -> None:
        """Print one dim line on standard error, so that standard output holds results only."""
        Console(stderr=True).print(Text(printable(text), style="dim"), soft_wrap=True)
