"""Questions that Hydra answers: the composed config, how it is composed, its own help."""

import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser

from orchestrator.config.composer import config_loader, hydra_1_3, require_primary, with_plus
from orchestrator.config.error_messages import one_line_errors
from orchestrator.config.loader import device_words
from orchestrator.config.places import split_places
from orchestrator.config.script_overrides import with_script_overrides
from orchestrator.core.errors import ConfigError
from orchestrator.core.printable import PROGRAM


def show_config(
    part: str, overrides: Sequence[str], *, package: str | None, resolve: bool, working_directory: Path
) -> None:
    """Print the composed config; nothing runs, and no file is written.

    Args:
        part: `job`, `hydra` or `all`.
        package: key of the part to print; None prints all.
        resolve: replace interpolations.

    Raises:
        ConfigError: a config that Hydra cannot compose.
    """
    with _hydra(overrides, working_directory) as (hydra, name, words), _hydras_end():
        hydra.show_cfg(name, words, part, package, resolve)


def show_composition(what: str, overrides: Sequence[str], *, working_directory: Path) -> None:
    """Print how the config is composed.

    Args:
        what: `all`, `config`, `defaults`, `defaults-tree`, `plugins` or `searchpath`.

    Raises:
        ConfigError: a config that Hydra cannot compose.
    """
    with _hydra(overrides, working_directory) as (hydra, name, words), _logging_alone():
        hydra.show_info(what, name, words)


def show_hydras_help(*, working_directory: Path) -> None:
    """Print Hydra's own help."""
    with _hydra((), working_directory) as (hydra, name, _):
        parser = get_args_parser()
        hydra.hydra_help(name, parser, parser.parse_args([]))


@contextmanager
def _hydra(overrides: Sequence[str], working_directory: Path) -> Iterator[tuple[Hydra, str, list[str]]]:
    """Yield Hydra, the name of the primary file, and the words as Hydra takes them."""
    named = device_words(overrides, working_directory=working_directory)
    places, rest = split_places(named.words, working_directory=working_directory)
    words = [with_plus(word) for word in with_script_overrides(rest)]
    with hydra_1_3(), one_line_errors():
        _require_one_value(words)
        loader = config_loader(working_directory, places.folders, is_copied=True)
        require_primary(loader.repository, places.name)
        yield Hydra(task_name="orchestrator", config_loader=loader), places.name, words


def _require_one_value(words: list[str]) -> None:
    for word in OverridesParser.create().parse_overrides(words):
        if word.is_sweep_override():
            raise ConfigError(
                f"{word.input_line!r} is a grid, and --cfg and --info show one composed config; give "
                f"{word.key_or_group} one value, or list the points: {PROGRAM} plan"
            )


@contextmanager
def _logging_alone() -> Iterator[None]:
    """Leave the root logger to Hydra, which prints with it; then restore its handlers and level."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextmanager
def _hydras_end() -> Iterator[None]:
    """Turn Hydra's exit for a missing package into a ConfigError with its line."""
    stderr = io.StringIO()
    try:
        with redirect_stderr(stderr):
            yield
    except SystemExit as end:
        raise ConfigError(stderr.getvalue().strip()) from end
