"""All commands, in the order of the help text."""

from functools import cache

from orchestrator.commands.catalogue import machines, predictions, sweeps
from orchestrator.commands.command_line import Command
from orchestrator.extension import add_parts


@cache
def list_commands() -> tuple[Command, ...]:
    """List the commands, those of extensions last in their group.

    Raises:
        ConfigError: a broken extension.
    """
    commands = add_parts((*sweeps.COMMANDS, *predictions.COMMANDS, *machines.COMMANDS), "commands")
    groups = list(dict.fromkeys(command.group for command in commands))
    return tuple(sorted(commands, key=lambda command: groups.index(command.group)))
