"""Command `doctor`: what this machine can train on, and what a sweep lacks on it."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from orchestrator.commands.catalogue.machines import CLEAR
from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import DONE, NO_RESULT, CommandLine
from orchestrator.config.loader import devices_named, load
from orchestrator.core import codec
from orchestrator.pipeline.doctor import diagnose
from orchestrator.pipeline.leftovers import clear_leftovers
from orchestrator.plan.machine_state import Diagnosis
from orchestrator.terminal.diagnosis import describe_machine
from orchestrator.terminal.screen import Screen

_SWEEP = ("+sweep=tpu_vs_gpu", "device=cpu")
"""The sweep that is inspected: its trainers are those of every framework. No device is asked for."""


def load_diagnosis(overrides: Sequence[str]) -> Diagnosis:
    """Diagnose this machine for a sweep with these overrides. Raises ConfigError."""
    here = Path.cwd()
    settings = load([*_SWEEP, *overrides], working_directory=here)
    return diagnose(settings, devices_named(here, settings.config_folders))


def print_diagnosis(document: str, lines: Iterable[str], line: CommandLine, screen: Screen) -> None:
    """Print a diagnosis: with `--json` its document, otherwise its lines."""
    if JSON.name in line.flags:
        sys.stdout.write(f"{document}\n")
        return
    for text in lines:
        screen.line(text)


def doctor(line: CommandLine, screen: Screen) -> int:
    """Print what this machine can train on; with `--clear` after what commands have left is removed."""
    if CLEAR.name in line.flags:
        clear_leftovers()
    diagnosis = load_diagnosis(line.overrides)
    print_diagnosis(codec.to_json(diagnosis), describe_machine(diagnosis), line, screen)
    return DONE if diagnosis.is_ready else NO_RESULT
