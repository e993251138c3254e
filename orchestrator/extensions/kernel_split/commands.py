"""Command `predict split`: whether splitting convolutions is faster."""

from pathlib import Path

from orchestrator.commands.command_line import DONE, CommandLine
from orchestrator.commands.json_output import print_document, wants_json
from orchestrator.extensions.kernel_split.prediction.predict import predict_splits
from orchestrator.extensions.kernel_split.prediction.table import (
    convert_to_plain,
    split_outlook_table,
    split_sentence,
)
from orchestrator.terminal.screen import Screen


def split(line: CommandLine, screen: Screen) -> int:
    """Print the speed-up of every point."""
    outlook = predict_splits(line.overrides, working_directory=Path.cwd())
    if wants_json(line):
        print_document(convert_to_plain(outlook))
        return DONE
    screen.table(split_outlook_table(outlook))
    screen.line(split_sentence(outlook))
    return DONE
