"""Commands `predict transfer` and `predict evaluate`: latencies from profiles, and how good they are."""

import sys
from pathlib import Path

from orchestrator.commands.command_line import DONE, CommandLine
from orchestrator.commands.json_output import print_document, wants_json
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.evaluation import tables
from orchestrator.extensions.profile_transfer.evaluation.evaluate import evaluate as evaluate_predictors
from orchestrator.extensions.profile_transfer.latency_data.bundled import default_profiles
from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies
from orchestrator.extensions.profile_transfer.models.transfer import transferred
from orchestrator.extensions.profile_transfer.transfers import build_document, build_table
from orchestrator.terminal.screen import Screen


def transfer(line: CommandLine, screen: Screen) -> int:
    """Print latencies predicted from profiles on another GPU."""
    transfers = tuple(transferred(read_latencies(_find_data(line)), default_profiles()))
    if wants_json(line):
        print_document(build_document(transfers))
        return DONE
    screen.table(build_table(transfers))
    return DONE


def evaluate(line: CommandLine, screen: Screen) -> int:
    """Print how good such predictions are."""
    on_progress = screen.progress if sys.stderr.isatty() else _ignore
    evaluation = evaluate_predictors(read_latencies(_find_data(line)), on_progress=on_progress)
    if wants_json(line):
        print_document(codec.to_nulls(tables.convert_to_plain(evaluation)))
        return DONE
    for sentence in tables.format_sentences(evaluation):
        screen.line(sentence)
    for table in tables.build_tables(evaluation):
        screen.table(table)
    return DONE


def _ignore(text: str) -> None:
    """Leave standard error empty where it is no terminal."""


def _find_data(line: CommandLine) -> Path:
    match [word.partition("=") for word in line.overrides]:
        case [("data", _, path)] if path:
            return Path(path)
    raise ConfigError(f"{line.command} needs data=PATH and takes no other override")
