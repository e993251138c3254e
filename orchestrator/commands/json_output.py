"""One JSON document on standard output, and everything else on standard error."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from rich.console import Console

from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import CommandLine
from orchestrator.terminal.screen import Screen


def print_document(document: object) -> None:
    """Print it, without width or colour. A stream that is not UTF-8 gets escapes of JSON."""
    is_utf8 = (sys.stdout.encoding or "utf-8").lower() in ("utf-8", "utf8")
    sys.stdout.write(f"{json.dumps(document, indent=1, ensure_ascii=not is_utf8, allow_nan=False)}\n")


def wants_json(line: CommandLine) -> bool:
    """Return whether the command line asks for a document."""
    return JSON.name in line.flags


@contextmanager
def progress_screen(line: CommandLine, screen: Screen) -> Iterator[Screen]:
    """Yield the screen for progress: with `--json` that of standard error, also for libraries that print."""
    if not wants_json(line):
        yield screen
        return
    with redirect_stdout(sys.stderr):
        yield Screen(Console(width=None if sys.stderr.isatty() else screen.console.width))
