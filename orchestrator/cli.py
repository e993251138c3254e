"""Entry point of the command line: the table of commands, error handling, and the exit code."""

import io
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from rich.console import Console

from orchestrator.commands import cluster, doctor, predict, sweep, sweep_commands
from orchestrator.commands.command_line import DONE, INTERRUPTED, WRONG_REQUEST, help_text, parse
from orchestrator.config.hydra_cli import hydra_main, is_hydra_flag
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.printable import printable
from orchestrator.record.driver_environment import own_version
from orchestrator.terminal.screen import Screen

COMMANDS = (*sweep_commands.COMMANDS, *doctor.COMMANDS, *cluster.COMMANDS, *predict.COMMANDS)

_PIPE_WIDTH = 160  # without a terminal, the width is unknown
_SETTINGS = """
  Settings of every command:
  workload_path=DIR   load your own workloads from DIR/NAME; see docs/own_workload.md
                      workload_seconds=60 and workload_gigabytes=16 limit the code of a workload
"""

console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. A user's mistake is one line on standard error."""
    signal.signal(signal.SIGTERM, _interrupt)
    _escape_unencodable_text()
    _log_printable_warnings()
    screen = Screen(console)
    try:
        with sweep.parsed_arguments(arguments) as words:
            return _run(words, screen)
    except OrchestratorError as error:
        screen.error(error.whole)
        return WRONG_REQUEST
    except KeyboardInterrupt:
        screen.error("interrupted; finished trials are kept, and the same command runs the rest")
        return INTERRUPTED


def _escape_unencodable_text() -> None:
    """Escape characters that the encoding of the terminal lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _log_printable_warnings() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_PrintableFormatter("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _PrintableFormatter(logging.Formatter):
    """Formatter that escapes control characters: a warning quotes files, servers and packages."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _run(words: Sequence[str], screen: Screen) -> int:
    if "--version" in words:
        screen.line(f"orchestrator {own_version() or 'from a folder: it is not installed'}")
        return DONE
    if {"--help", "-h"} & set(words):
        screen.line(help_text(COMMANDS) + _SETTINGS)
    if is_hydra_flag(words):
        return hydra_main(words, working_directory=Path.cwd())
    line = parse(words, COMMANDS, tools=predict.TOOLS)
    (command,) = (command for command in COMMANDS if command.name == line.command)
    return command.run(line, screen)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
