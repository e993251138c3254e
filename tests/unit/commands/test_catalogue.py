"""Catalogue of commands: the functions exist, and keys and examples are ones that a command understands."""

import inspect
import shlex
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

from orchestrator.commands.catalogue.catalogue import TOOLS, list_commands
from orchestrator.commands.catalogue.shared_flags import INSTEAD, SHARED_FLAGS
from orchestrator.commands.command_line import Command, parse
from orchestrator.config.cluster import load_cluster
from orchestrator.config.loader import load

OF_DATA = ("predict transfer", "predict evaluate", "prices refresh", "prices list", "prices import")
OF_POOLS = ("cluster", "doctor cluster")
PLACEHOLDERS = {
    "tracking.uri=http://HOST:5000": "tracking.uri=http://host:5000",
    "pools.zone=ZONE": "pools.zone=a-b",
}


def named(command: Command) -> str:
    return command.name


@pytest.mark.parametrize("command", list_commands(), ids=named)
def test_the_function_of_a_command_takes_line_and_screen(command: Command) -> None:
    assert list(inspect.signature(resolve_name(command.run)).parameters) == ["line", "screen"]


@pytest.mark.parametrize("command", list_commands(), ids=named)
def test_examples_are_understood(command: Command) -> None:
    assert command.examples
    for example in command.examples:
        if example.startswith("eval "):
            continue
        words = shlex.split(example.partition(" > ")[0])
        line = parse(words, list_commands(), shared=SHARED_FLAGS, tools=TOOLS)
        assert line.command == command.name
        understood(command, line.overrides)


@pytest.mark.parametrize("command", list_commands(), ids=named)
def test_keys_are_understood(command: Command) -> None:
    words = (PLACEHOLDERS.get(key.usage, key.usage) for key in command.keys)
    understood(command, tuple(word for word in words if word not in ("+sweep=NAME", "pools.project=ID")))


def understood(command: Command, words: tuple[str, ...]) -> None:
    """Load the words as the command does. Raises ConfigError."""
    words = tuple(word.replace("=ID", "=my-project") for word in words)
    if command.name in OF_POOLS:
        understood_of_pools(words)
    elif command.name not in OF_DATA:
        rest = [word for word in words if not word.startswith(("confidence=", "predict.sort="))]
        sweep = [] if any(word.startswith("+sweep=") for word in rest) else ["+sweep=single"]
        understood_of_sweeps((*sweep, *rest))


@cache
def understood_of_pools(words: tuple[str, ...]) -> None:
    is_job = any(word.startswith(("budget.", "record.")) for word in words)
    words = ("pools=gcp", "pools.project=my-project", *words, *(["pools=gke"] if is_job else []))
    load_cluster(words, working_directory=Path("/"), takes_job=is_job)


@cache  # commands share keys and examples
def understood_of_sweeps(words: tuple[str, ...]) -> None:
    load(words, working_directory=Path("/"))


def test_a_flag_has_one_meaning() -> None:
    flags = [*SHARED_FLAGS, *{flag for command in list_commands() for flag in command.flags}]
    names = [name for flag in flags for name in (flag.name, flag.short) if name]
    assert len(names) == len(set(names))
    assert not set(INSTEAD) & set(names)
