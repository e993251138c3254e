"""Commands of the documentation: all are understood, and those that start no trial are typed."""

import os
import shutil
from pathlib import Path

import pytest
from cli_process import ask
from documented import Line, lines
from repository import ROOT

from orchestrator.commands.arguments import parsed_arguments
from orchestrator.commands.catalogue.catalogue import list_commands
from orchestrator.commands.catalogue.shared_flags import SHARED_FLAGS
from orchestrator.commands.command_line import CommandLine, parse
from orchestrator.config.loader import load
from orchestrator.extensions.cluster_files.commands import render

LINES = tuple({line.words: line for line in lines()}.values())
QUICK_START = next(line.words for line in LINES if line.page == "docs/tutorials/quick_start.md")
TYPED = ("plan", "predict", "predict advise", "doctor", "doctor cluster", "cluster")
TRAINED = set(QUICK_START) - {"executor=inline", "tracking=none"}
"""Words that decide what the quick start trains: a report with these words has its records."""
FILES = {"mine.csv", "cluster.yaml", "$ORCHESTRATOR_DATA/profet"}  # of a user, or too long to evaluate


def command_of(words: tuple[str, ...]) -> CommandLine:
    return parse(words, list_commands(), shared=SHARED_FLAGS)


def asks_for_the_config(line: CommandLine) -> bool:
    return "--cfg" in line.flags


def is_typed(line: Line) -> bool:
    """Return whether a command ends within seconds and starts no trial."""
    if (
        line.needs
        or asks_for_the_config(command_of(line.words))
        or FILES & {word.partition("=")[2] or word for word in line.words}
    ):
        return False
    name = command_of(line.words).command
    return name in TYPED or (name == "report" and set(line.words) >= TRAINED)


@pytest.mark.more_except("cluster.yaml", "pools", "gke.yaml", "https:", "1024")
@pytest.mark.parametrize(
    "line", [line for line in LINES if not is_typed(line)], ids=lambda line: " ".join(line.words)
)
def test_a_command_is_understood(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with parsed_arguments(line.words) as words:
        parsed = command_of(tuple(words))
        if asks_for_the_config(parsed):
            return
        if parsed.command == "cluster" and "--check" not in parsed.flags:
            assert render(parsed.overrides, working_directory=ROOT).findings == ()
        elif any(word.startswith("+sweep=") for word in parsed.overrides):
            overrides = [
                word for word in parsed.overrides if not word.startswith(("confidence=", "predict.sort="))
            ]
            assert load(overrides, working_directory=ROOT).sweep.points


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of a user who has typed the quick start."""
    place = tmp_path_factory.mktemp("documentation")
    shutil.copytree(ROOT / "docs/examples", place / "docs/examples")
    answer = ask(*QUICK_START, cwd=place)
    assert answer.code == 0, answer.err
    assert (place / "outputs/smoke/report.html").exists()
    return place


@pytest.mark.more
@pytest.mark.parametrize(
    "line", [line for line in LINES if is_typed(line)], ids=lambda line: " ".join(line.words)
)
def test_a_command_that_starts_no_trial_ends_well(line: Line, folder: Path) -> None:
    asks_a_compiler = any(word.startswith("compile=") for word in line.words)
    free = () if asks_a_compiler or command_of(line.words).command != "plan" else ("compile=off",)
    answer = ask(*line.words, *free, cwd=folder, variables={"COLUMNS": "120", **os.environ})
    assert answer.code in ((0, 1) if line.words[0] == "doctor" else (0,)), answer.err
    assert answer.out.strip()
    assert "Traceback" not in answer.err


def test_commands_of_every_kind_are_typed():
    typed = {command_of(line.words).command for line in LINES if is_typed(line)}
    assert typed == {*TYPED, "report"}
