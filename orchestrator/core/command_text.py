"""The one writer of the command lines that a person is shown. Pure."""

import re
import shlex
from collections.abc import Iterable

PROGRAM = "python -m orchestrator"


def command_text(words: Iterable[str], *, verb: str = "") -> str:
    """Write a command as a shell reads it.

    Args:
        words: overrides.
        verb: `predict calibrate`; empty: the command that runs a sweep.
    """
    return shlex.join([*PROGRAM.split(), *verb.split(), *words])


def quoted_value(text: str) -> str:
    """Write a text as a value in Hydra's grammar, in which neither Hydra nor OmegaConf replaces anything."""
    literal = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)
    ended = re.sub(r"(\\+)(?='|\Z)", r"\1\1", literal)  # backslashes before a quote
    return "'" + ended.replace("'", "\\'") + "'"
