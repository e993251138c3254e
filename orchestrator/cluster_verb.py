"""The verb `cluster`: print the file of declared pools, check one, or compare it with one on disk."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from orchestrator import launching
from orchestrator.core.errors import ConfigError
from orchestrator.deploy.finding import Finding

NAME = "cluster"

Say = Callable[[str], None]


def answer(words: Sequence[str], *, say: Say, complain: Say) -> int:
    """Carry the verb out; the exit code is 0 if all is well, 1 if files differ, 2 if one is wrong.

    Raises:
        ConfigError: words that cannot be understood, or a file that cannot be read.
    """
    verb = words.index(NAME)
    asked = _parsed([*words[:verb], *words[verb + 1 :]])
    here, overrides = Path.cwd(), asked.overrides
    if isinstance(asked.check, str):
        return _check(launching.read(Path(asked.check), overrides, working_directory=here), say, complain)
    rendered = launching.render(overrides, working_directory=here)
    if asked.check:
        return _check(rendered, say, complain)
    if asked.diff:
        difference = launching.difference(rendered, Path(asked.diff))
        sys.stdout.write(difference)  # for programs too: no width, no colour
        return 1 if difference else 0
    if rendered.findings:
        return _told(rendered.name, rendered.findings, complain)
    sys.stdout.write(rendered.text)
    return 0


def _check(rendered: launching.Rendered, say: Say, complain: Say) -> int:
    code = _told(rendered.name, rendered.findings, complain)
    code |= _told(rendered.name, launching.what_ray_finds(rendered), complain)
    if not code:
        say(f"{rendered.name}: nothing is wrong that can be seen offline")
    return code


def _told(name: str, findings: Sequence[Finding], complain: Say) -> int:
    for each in findings:
        complain(f"{name}: {each.key}: {each.message}")
    return 2 if findings else 0


def _parsed(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog=NAME, add_help=False, allow_abbrev=False)
    parser.error = _refuse  # type: ignore[method-assign]  # argparse would print its usage over many lines
    parser.add_argument("--check", nargs="?", const=True)
    parser.add_argument("--diff")
    overrides = [word for word in words if "=" in word and not word.startswith("--")]
    asked = parser.parse_args([word for word in words if word not in overrides])
    asked.overrides = overrides
    return asked


def _refuse(message: str) -> NoReturn:
    raise ConfigError(
        f"cluster: {message}; possible: --check [FILE], --diff FILE, pools=NAME, pools.KEY=VALUE"
    )
