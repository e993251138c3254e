"""Words about a user's own workloads: their folders, and the limits of their code.

They are read before there is a configuration, because the config files depend on them.
"""

import os
from collections.abc import Mapping, Sequence

from orchestrator.core.errors import ConfigError
from workloads.apart import GIGABYTES_VARIABLE, SECONDS_VARIABLE
from workloads.origins import PATH_VARIABLE

PATH = "workload_path"
VARIABLES: Mapping[str, str] = {
    PATH: PATH_VARIABLE,
    "workload_seconds": SECONDS_VARIABLE,
    "workload_gigabytes": GIGABYTES_VARIABLE,
}
"""Word -> environment variable that has the same effect on every command."""


def extract_workload_overrides(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """A command line without these words, and the variables that they set; of two of a kind the last holds.

    Folders are written `A`, `A,B` or `[A,B]`, and may have characters that Hydra's grammar has no place for.

    Raises:
        ConfigError: a word that names no folder or no limit.
    """
    ours = {word: word.lstrip("+").partition("=") for word in words}
    values = {key: value for key, _, value in ours.values() if key in VARIABLES}
    rest = [word for word in words if ours[word][0] not in VARIABLES]
    return rest, {VARIABLES[key]: _find_value(key, value) for key, value in values.items()}


def workload_overrides() -> tuple[str, ...]:
    """Return the words that have the same effect as the variables of this process."""
    values = {key: os.environ.get(variable) for key, variable in VARIABLES.items()}
    return tuple(f"{key}={value.replace(os.pathsep, ',')}" for key, value in values.items() if value)


def _find_value(key: str, value: str) -> str:
    if key == PATH:
        return os.pathsep.join(_folders(value))
    if not value.strip().isprintable() or not value.strip():
        raise ConfigError(f"{key}={value} is not a number; {key}=120 is one")
    return value.strip()


def _folders(value: str) -> tuple[str, ...]:
    folders = tuple(word.strip(" '\"") for word in value.strip("[]").split(","))
    if "" in folders or not value.isprintable():  # what no environment variable can hold among them
        raise ConfigError(f"{PATH}={value} names no folder; name one that holds NAME/spec.py")
    return folders
