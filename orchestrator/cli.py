"""Entry point of the command line: help, error handling, and the exit code.

A command's module is imported when the command runs, so that help is there at once.
"""

import io
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from types import FrameType

from rich.console import Console

from orchestrator.commands.catalogue import shared_flags
from orchestrator.commands.catalogue.catalogue import TOOLS, list_commands
from orchestrator.commands.command_line import DONE, INTERRUPTED, WRONG_REQUEST, Command, CommandLine, parse
from orchestrator.commands.help_text import format_help, help_text, overview
from orchestrator.config.places import config_folders, options_in, place_words, split_places
from orchestrator.core.errors import ConfigError, OrchestratorError
from orchestrator.core.printable import printable
from orchestrator.extension import VARIABLE, describe_unregistered
from orchestrator.terminal.error_line import print_error

_KEPT = "; finished trials are kept, and the same command runs the rest"
_PIPE_WIDTH = 160  # without a terminal, the width is unknown unless COLUMNS has it


def choose_pipe_width(columns: str) -> int:
    """Return the width of COLUMNS, or where that has none the usual one."""
    return int(columns) if columns.isdecimal() and int(columns) else _PIPE_WIDTH


console = Console(width=None if sys.stdout.isatty() else choose_pipe_width(os.environ.get("COLUMNS", "")))


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. A user's mistake is one line on standard error."""
    signal.signal(signal.SIGTERM, _interrupt)
    for stream in (sys.stdout, sys.stderr):  # characters that its encoding lacks are escaped
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    handler = logging.StreamHandler()
    handler.setFormatter(_PrintableFormatter("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    try:
        if VARIABLE not in os.environ and (missing := describe_unregistered()):
            logging.warning("%s", missing.removeprefix("; "))
        line = _parsed(arguments)
        (command,) = (command for command in list_commands() if command.name == line.command)
        if shared_flags.VERSION.name in line.flags:
            return _print_version()
        if not arguments or shared_flags.HELP.name in line.flags:
            return _print_help(command, line, arguments)
        from orchestrator.commands.arguments import parsed_arguments

        with parsed_arguments(line.overrides) as words:
            line = replace(line, overrides=tuple(words))
            if _is_about_config(line):
                return _answer_about_config(line)
            from orchestrator.terminal.screen import Screen

            code: int = resolve_name(command.run)(line, Screen(console))
            return code
    except OrchestratorError as error:
        print_error(error.whole)
        return WRONG_REQUEST
    except KeyboardInterrupt:
        name = next((word for word in arguments if not word.startswith("-")), "")
        print_error(f"interrupted{'' if name == 'predict' else _KEPT}")  # it runs no trials
        return INTERRUPTED


class _PrintableFormatter(logging.Formatter):
    """Formatter that escapes control characters: a warning quotes files, servers and packages."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _parsed(arguments: Sequence[str]) -> CommandLine:
    """Parse the words; flags about config files become Hydra's overrides of the same meaning."""
    for word in arguments:
        if instead := shared_flags.INSTEAD.get(word.partition("=")[0]):
            raise ConfigError(instead)
    line = parse(arguments, list_commands(), shared=shared_flags.SHARED_FLAGS, tools=TOOLS)
    places = place_words(
        folders=line.flags.get(shared_flags.CONFIG_DIR.name, ()),
        names=line.flags.get(shared_flags.CONFIG_NAME.name, ()),
    )
    return replace(line, overrides=(*places, *line.overrides))


def _print_version() -> int:
    from orchestrator.record.driver_environment import own_version

    sys.stdout.write(f"orchestrator {own_version() or 'from a folder: it is not installed'}\n")
    return DONE


def _print_help(command: Command, line: CommandLine, arguments: Sequence[str]) -> int:
    here = Path.cwd()
    places, _ = split_places(line.overrides, working_directory=here)
    options = options_in(config_folders(here, places.folders))
    sweeps = options.get("sweep", ())
    if not arguments:
        text = overview(list_commands(), sweeps=sweeps)
    elif set(arguments) <= {shared_flags.HELP.name, shared_flags.HELP.short}:
        text = help_text(list_commands(), shared_flags.CONFIG_FLAGS, sweeps=sweeps, groups=options)
    else:
        text = format_help(command)
    sys.stdout.write(f"{printable(text)}\n")
    return DONE


def _is_about_config(line: CommandLine) -> bool:
    questions = (shared_flags.CFG, shared_flags.INFO, shared_flags.HYDRA_HELP)
    if any(flag.name in line.flags for flag in questions):
        return True
    for flag in (shared_flags.RESOLVE, shared_flags.PACKAGE):
        if flag.name in line.flags:
            raise ConfigError(f"{flag.name} is about a composed config; add --cfg job")
    return False


def _answer_about_config(line: CommandLine) -> int:
    from orchestrator.config.hydra_cli import show_composition, show_config, show_hydras_help

    here = Path.cwd()
    if cfg := line.flags.get(shared_flags.CFG.name):
        show_config(
            cfg[-1],
            line.overrides,
            package=line.flags.get(shared_flags.PACKAGE.name, (None,))[-1],
            resolve=shared_flags.RESOLVE.name in line.flags,
            working_directory=here,
        )
    elif info := line.flags.get(shared_flags.INFO.name):
        show_composition(info[-1] or "all", line.overrides, working_directory=here)
    else:
        show_hydras_help(working_directory=here)
    return DONE


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
