"""Command `doctor`: what this machine can train on, and what a sweep lacks on it."""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.commands.catalogue.machines import CLEAR
from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.cluster import render
from orchestrator.commands.command_line import DONE, NO_RESULT, CommandLine
from orchestrator.config.cluster import load_cluster
from orchestrator.config.loader import devices_named, load
from orchestrator.core import codec
from orchestrator.core.diagnosis import ClusterDiagnosis, Diagnosis
from orchestrator.pipeline.cluster_doctor import diagnose_cluster
from orchestrator.pipeline.doctor import diagnose
from orchestrator.pipeline.leftovers import clear_leftovers
from orchestrator.terminal.diagnosis import describe_cluster, describe_machine
from orchestrator.terminal.screen import Screen

_SWEEP = ("+sweep=tpu_vs_gpu", "device=cpu")
"""The sweep that is inspected: its trainers are those of every framework. No device is asked for."""


def load_diagnosis(overrides: Sequence[str]) -> Diagnosis:
    """Diagnose this machine for a sweep with these overrides. Raises ConfigError."""
    here = Path.cwd()
    settings = load([*_SWEEP, *overrides], working_directory=here)
    return diagnose(settings, devices_named(here, settings.config_folders))


def doctor(line: CommandLine, screen: Screen) -> int:
    """Print what this machine can train on; with `--clear` after what commands have left is removed."""
    if CLEAR.name in line.flags:
        clear_leftovers()
    diagnosis = load_diagnosis(line.overrides)
    _print(diagnosis, describe_machine(diagnosis), line, screen)
    return DONE if diagnosis.is_ready else NO_RESULT


def doctor_cluster(line: CommandLine, screen: Screen) -> int:
    """Print what declared pools can train on."""
    here = Path.cwd()
    cluster, catalogue = load_cluster(line.overrides, working_directory=here)
    # a job of Kubernetes needs a cap, which no check depends on
    cap = [] if any(word.startswith("budget.usd=") for word in line.overrides) else ["budget.usd=1"]
    rendered = render([*line.overrides, *(cap if cluster.provider == "gke" else [])], working_directory=here)
    faults = [f"{finding.key}: {finding.message}" for finding in rendered.findings]
    today = datetime.now(UTC).date().isoformat()
    diagnosis = diagnose_cluster(cluster, catalogue, faults=faults, today=today)
    _print(diagnosis, describe_cluster(diagnosis), line, screen)
    return DONE if diagnosis.is_ready else NO_RESULT


def _print(
    diagnosis: Diagnosis | ClusterDiagnosis, lines: Iterable[str], line: CommandLine, screen: Screen
) -> None:
    if JSON.name in line.flags:
        sys.stdout.write(f"{codec.to_json(diagnosis)}\n")
        return
    for text in lines:
        screen.line(text)
