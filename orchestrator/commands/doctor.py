"""Command `doctor`: what this machine can train on, and what a sweep lacks on it."""

import sys
from pathlib import Path

from orchestrator.commands.command_line import DONE, NO_RESULT, Command, CommandLine, Flag
from orchestrator.config.loader import devices_named, load
from orchestrator.core import codec
from orchestrator.pipeline.doctor import diagnose
from orchestrator.terminal.diagnosis import lines_of
from orchestrator.terminal.screen import Screen

_JSON = Flag(name="--json", summary="print JSON for programs")
_SWEEP = ("+sweep=tpu_vs_gpu", "device=cpu")
"""The sweep that is inspected: its trainers are those of every framework. No device is asked for."""


def _doctor(line: CommandLine, screen: Screen) -> int:
    here = Path.cwd()
    diagnosis = diagnose(load([*_SWEEP, *line.overrides], working_directory=here), devices_named(here))
    if _JSON.name in line.flags:
        sys.stdout.write(f"{codec.to_json(diagnosis)}\n")
    else:
        for text in lines_of(diagnosis):
            screen.line(text)
    return DONE if diagnosis.is_ready else NO_RESULT


COMMANDS = (
    Command(
        name="doctor",
        arguments="tracking.uri=URI",
        summary="Tell what this machine can train on, and how to mend what is missing.",
        flags=(_JSON,),
        run=_doctor,
    ),
)
"""Commands of this module."""
