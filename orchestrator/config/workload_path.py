"""The word `workload_path`: where a user's own workloads lie. It decides which config files there are."""

from collections.abc import Sequence

from orchestrator.config.words import read
from orchestrator.core.errors import ConfigError

KEY = "workload_path"


def taken_out(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """A command line without that word, and the folders that it names; of two such words the last one holds.

    Raises:
        ConfigError: a word that names no folder.
    """
    is_ours = [word.lstrip("+").partition("=")[0] == KEY for word in words]
    rest = [word for word, ours in zip(words, is_ours, strict=True) if not ours]
    said = read([word for word, ours in zip(words, is_ours, strict=True) if ours], options=lambda _: ())
    return rest, _folders(said[-1].values) if said else ()


def _folders(values: tuple[object, ...]) -> tuple[str, ...]:
    """Of `A`, `A,B` or `[A,B]`."""
    [only, *more] = values
    folders = tuple(str(each) for each in (only if isinstance(only, tuple) and not more else values))
    if "" in folders or not folders:
        raise ConfigError(f"{KEY} names no folder; name one that holds NAME/spec.py")
    return folders
