"""All commands, in the order of the help text."""

from functools import cache

from orchestrator.commands.catalogue import machines, sweeps
from orchestrator.commands.command_line import Command
from orchestrator.extension import add_parts

_GROUPS = ("Run a sweep", "Look at results", "Predict", "Machines", "Shell")

TOOLS = {
    "predict fit": "python tools/fit_bundled_models.py DATA",
    "predict condense": "python tools/condense_profiles.py DATA",
}
"""Former command -> program that replaces it: it writes a data file of this repository."""


@cache
def list_commands() -> tuple[Command, ...]:
    """List the commands by group; in it those of one word first, and those of extensions last.

    Raises:
        ConfigError: a broken extension.
    """
    commands = add_parts((*sweeps.COMMANDS, *machines.COMMANDS), "commands")
    groups = (*_GROUPS, *(command.group for command in commands))
    return tuple(sorted(commands, key=lambda command: (groups.index(command.group), command.name.count(" "))))
