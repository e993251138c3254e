"""The word `workload_path`: where a user's own workloads lie. It decides which config files there are."""

from collections.abc import Sequence

from orchestrator.core.errors import ConfigError

KEY = "workload_path"


def taken_out(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """A command line without that word, and the folders that it names; of two such words the last one holds.

    Folders are written `A`, `A,B` or `[A,B]`, and may have characters that Hydra's grammar has no place for.

    Raises:
        ConfigError: a word that names no folder.
    """
    values = {word: word.partition("=")[2] for word in words if word.lstrip("+").partition("=")[0] == KEY}
    rest = [word for word in words if word not in values]
    return rest, _folders([*values.values()][-1]) if values else ()


def _folders(value: str) -> tuple[str, ...]:
    folders = tuple(each.strip(" '\"") for each in value.strip("[]").split(","))
    if "" in folders or not value.isprintable():  # what no environment variable can hold among them
        raise ConfigError(f"{KEY}={value} names no folder; name one that holds NAME/spec.py")
    return folders
