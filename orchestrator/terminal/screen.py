"""Output of a command: standard output for results, standard error for errors and progress."""

from rich.console import Console
from rich.text import Text

from orchestrator.analysis.table import Table
from orchestrator.core.printable import printable
from orchestrator.terminal.error_line import error_line
from orchestrator.terminal.printing import print_line, print_table


class Screen:
    """Screen of a command.

    Attributes:
        console: console of standard output.
    """

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, text: str) -> None:
        """Print one line."""
        print_line(self.console, text)

    def table(self, table: Table) -> None:
        """Print a table."""
        print_table(self.console, table)

    def error(self, text: str) -> None:
        """Print one line on standard error; a long text goes to a temporary file that the line names."""
        Console(stderr=True).print(Text(error_line(text)), soft_wrap=True)

    def progress(self, text: str) -> None:
        """Print one dim line on standard error, so that standard output holds results only."""
        Console(stderr=True).print(Text(printable(text), style="dim"), soft_wrap=True)
