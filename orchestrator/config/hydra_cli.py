"""Command lines that are Hydra's own affair, answered by Hydra: the composed config, help, completion."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import NoReturn

from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser

from orchestrator.config.composer import CONFIG_NAME, config_loader, hydra_1_3
from orchestrator.config.error_messages import one_line_errors
from orchestrator.core.errors import ConfigError

_WORDS = (
    "--cfg",
    "-c",
    "--help",
    "-h",
    "--hydra-help",
    "--info",
    "-i",
    "--shell-completion",
    "-sc",
)


def is_hydra_flag(argv: Sequence[str]) -> bool:
    """Return whether a command line has one of Hydra's own flags."""
    return any(word.partition("=")[0] in _WORDS for word in argv)


def hydra_main(argv: Sequence[str], *, working_directory: Path) -> int:
    """Let Hydra answer on the terminal with our config files and schemas; nothing runs, no file is written.

    Raises:
        ConfigError: a command line that Hydra cannot understand.
    """
    parser = get_args_parser()
    parser.error = _refuse  # type: ignore[method-assign]  # argparse would print its usage over many lines
    parser.allow_abbrev = False
    args = parser.parse_args([_picked(word) for word in argv])
    if args.config_dir or args.config_path or args.config_name:
        raise ConfigError(
            "--config-dir, --config-path and --config-name have no effect; write conf/ here instead"
        )
    with hydra_1_3(), one_line_errors():
        hydra = Hydra(task_name="orchestrator", config_loader=config_loader(working_directory))
        if args.help:
            hydra.app_help(CONFIG_NAME, parser, args)
        elif args.hydra_help:
            hydra.hydra_help(CONFIG_NAME, parser, args)
        elif args.cfg:
            with _hydras_end():
                hydra.show_cfg(CONFIG_NAME, args.overrides, args.cfg, args.package, args.resolve)
        elif args.info:
            hydra.show_info(args.info, CONFIG_NAME, args.overrides)
        else:
            hydra.shell_completion(CONFIG_NAME, args.overrides)
    return 0


@contextmanager
def _hydras_end() -> Iterator[None]:
    """Turn Hydra's exit for a missing package into a ConfigError with its line."""
    stderr = io.StringIO()
    try:
        with redirect_stderr(stderr):
            yield
    except SystemExit as end:
        raise ConfigError(stderr.getvalue().strip()) from end


def _refuse(message: str) -> NoReturn:
    raise ConfigError(f"{message}; --hydra-help lists Hydra's options")


def _picked(word: str) -> str:
    """`sweep=NAME` picks a group that no defaults list has, which Hydra writes with a plus."""
    return f"+{word}" if word.startswith("sweep=") else word
