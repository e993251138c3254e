"""Command line: the parts of a command, and the parser. It imports nothing heavy, for the help needs it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from orchestrator.core.errors import ConfigError, UnknownNameError

DONE, NO_RESULT, WRONG_REQUEST, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: success; a trial has no result, files differ or a report file was not written; the request is
wrong; Ctrl-C or SIGTERM."""

DEFAULT = "run"

Group = Literal["Run a sweep", "Look at results", "Predict", "Machines", "Shell"]
"""Heading of a command in the help text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """Flag of a command.

    Attributes:
        name: name with dashes; it means the same in every command.
        summary: its effect, for the help text.
        value: placeholder of the value after it; in brackets: may be absent; empty: takes none.
        short: another name, with one dash.
        choices: possible values; empty: any.
    """

    name: str
    summary: str
    value: str = ""
    short: str = ""
    choices: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """Name and placeholder."""
        return f"{self.name} {self.value}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """Parsed command line.

    Attributes:
        flags: name -> values in their order; an empty text where none was given.
        overrides: words that Hydra parses.
    """

    command: str
    flags: Mapping[str, tuple[str, ...]]
    overrides: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Config key, or several that belong together, in the help of a command.

    Attributes:
        usage: `report.goal=cheapest`.
    """

    usage: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Command: its words, its help, and the place of the function that runs it.

    Attributes:
        name: one or two words.
        arguments: usual overrides, for the help text.
        run: `module:function`, imported when the command runs. The function takes the `CommandLine` and the
            `Screen`, prints, and returns the exit code; it raises ConfigError for a wrong request.
        keys: config keys that matter to it.
        examples: whole command lines, without the program's name.
    """

    name: str
    group: Group
    arguments: str
    summary: str
    run: str
    flags: tuple[Flag, ...] = ()
    keys: tuple[Key, ...] = ()
    examples: tuple[str, ...] = ()


def parse(
    words: Sequence[str],
    commands: Sequence[Command],
    *,
    shared: Sequence[Flag] = (),
    tools: Mapping[str, str] = MappingProxyType({}),
) -> CommandLine:
    """Split a command line into the command, its flags and the overrides, in any order.

    Args:
        shared: flags of every command.
        tools: name of a former command -> program of the repository that replaces it, for the error message.

    Raises:
        ConfigError: an unknown command or flag, two commands, or a flag with a wrong value or without one.
    """
    names = {command.name: command for command in commands}
    every = [*shared, *(flag for command in commands for flag in command.flags)]
    flags_by_name = {name: flag for flag in every for name in (flag.name, flag.short) if name}
    given: dict[str, tuple[str, ...]] = {}
    plain: list[str] = []
    overrides: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word.startswith("-"):
            flag, value = _find_flag(word, flags_by_name)
            if flag is not None and flag.value and value is None:
                value = _value_after(flag, rest, names)
            if flag is not None and value and flag.choices and value not in flag.choices:
                raise UnknownNameError(f"value of {flag.name}:", value, known=flag.choices)
            name = word if flag is None else flag.name
            given[name] = (*given.get(name, ()), value or "")
        elif _is_plain(word):
            plain.append(word)
        else:
            overrides.append(word)
    command = names[_command_name(plain, names, tools)]
    own = [flag.name for flag in command.flags]
    for name in sorted(given.keys() - {*own, *(flag.name for flag in shared)}):
        raise UnknownNameError(f"flag of {command.name!r}:", name, known=own)
    return CommandLine(command=command.name, flags=given, overrides=tuple(overrides))


def _find_flag(word: str, known: Mapping[str, Flag]) -> tuple[Flag | None, str | None]:
    """Return the flag of a word and the value behind its `=`; no flag where none has that name."""
    name, has_value, value = word.partition("=")
    flag = known.get(name if has_value else word)
    if flag is None or (has_value and not flag.value):
        return None, None
    return flag, value if has_value else None


def _value_after(flag: Flag, rest: list[str], names: Iterable[str]) -> str | None:
    is_optional = flag.value.startswith("[")
    if rest and _is_plain(rest[-1]) and not (is_optional and rest[-1] in names):
        return rest.pop()
    if is_optional:
        return None
    raise ConfigError(f"{flag.name} needs a value: {flag.usage} ({flag.summary})")


def _is_plain(word: str) -> bool:
    return "=" not in word and word[:1] not in ("-", "~", "+")


def _command_name(plain: Sequence[str], names: Iterable[str], tools: Mapping[str, str]) -> str:
    name = " ".join(plain) or DEFAULT
    if name in names:
        return name
    first = plain[0]
    if first not in {name.split()[0] for name in names}:
        raise UnknownNameError("command", first, known=names)
    related = sorted(name for name in names if name.split()[0] == first)
    if name in tools:
        raise ConfigError(
            f"unknown command {name!r}; in a checkout of the repository run `{tools[name]}`; "
            f"known: {', '.join(related)}"
        )
    if any(" " in name for name in related):
        raise UnknownNameError("command", name, known=related)
    if plain[1] not in {name.split()[0] for name in names}:
        raise UnknownNameError("command", plain[1], known=names)
    raise ConfigError(f"one command at a time: {first!r} and {plain[1]!r} were given")
