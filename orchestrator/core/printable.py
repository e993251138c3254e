"""Text of unknown origin, and command lines, as a terminal shows them and obeys nowhere."""

import contextlib
import re
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path


def find_program(name: str) -> str:
    """Return how a shell here starts a program of this environment: by its name, if that finds it."""
    own, found = Path(sys.prefix, "bin", name), shutil.which(name)
    if not own.exists() or (found and Path(found).parent.resolve() == own.parent.resolve()):
        return name
    with contextlib.suppress(OSError, ValueError):  # the current folder is gone, or elsewhere
        own = own.relative_to(Path.cwd())
    return shlex.quote(str(own))


PROGRAM = f"{find_program('python')} -m orchestrator"


def command_text(words: Iterable[str], *, verb: str = "") -> str:
    """Write a command as a shell reads it.

    Args:
        words: overrides.
        verb: `predict calibrate`; empty: the command that runs a sweep.
    """
    return f"{PROGRAM} {shlex.join([*verb.split(), *words])}".rstrip()


def quoted_value(text: str) -> str:
    """Write a text as a value in Hydra's grammar, in which neither Hydra nor OmegaConf replaces anything."""
    literal = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)
    ended = re.sub(r"(\\+)(?='|\Z)", r"\1\1", literal)  # backslashes before a quote
    return "'" + ended.replace("'", "\\'") + "'"


MOST_CHARACTERS = 2000
"""Limit of one line. A longer line loses its middle."""


MOST_OF_AN_ERROR = 300
"""Characters of an error's line in a terminal, unless the name of a file takes more."""


_USER = re.compile(r"""(?<=//)(?:[^\s'"/@:?]+:[^\s'"]*|[^\s'"/?]*)@""")
"""User and password of a URI; a password may hold any character, by mistake also `/` and `@`."""
_QUERY = re.compile(r"""(?<!sqlite)(://[^\s'"?]+)\?[^\s'"]*""")
"""Query of a URI, which may hold a token; a database has options there."""


def without_secrets(text: str) -> str:
    """Return the text without users, passwords and queries in its URIs."""
    return _QUERY.sub(r"\1?…", _USER.sub("", text))


def one_line(text: str) -> str:
    """The text on one line that is not too long, with escapes for what cannot be shown."""
    if len(text) > MOST_CHARACTERS:
        half = MOST_CHARACTERS // 2
        text = f"{text[:half]} … {text[-half:]}"
    return _escaped(text)


def cut(text: str, *, rest: str) -> str:
    """The text, or as much of it as an error's line has room for, and where all of it is.

    Args:
        rest: `all of it: FILE`.
    """
    if len(text) <= MOST_OF_AN_ERROR:
        return text
    end = f" … ({rest})"
    return f"{text[: max(0, MOST_OF_AN_ERROR - len(end))]}{end}"


def printable(text: str) -> str:
    """The text with its lines, and with escapes for what cannot be shown: control characters, surrogates."""
    return "\n".join(map(_escaped, text.split("\n")))


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
