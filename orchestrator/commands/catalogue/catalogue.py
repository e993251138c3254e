"""All commands, in the order of the help text."""

from orchestrator.commands.catalogue import machines, predictions, sweeps

COMMANDS = (*sweeps.COMMANDS, *predictions.COMMANDS, *machines.COMMANDS)
