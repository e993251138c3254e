"""Commands `completion`: the script for a shell, and the words that it asks for."""

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.commands.arguments import parsed_arguments
from orchestrator.commands.catalogue.catalogue import list_commands
from orchestrator.commands.catalogue.machines import LINE
from orchestrator.commands.catalogue.shared_flags import CONFIG_DIR, SHARED_FLAGS
from orchestrator.commands.command_line import DONE, Command, CommandLine, Flag
from orchestrator.config.places import config_folders, options_in, place_words, split_places
from orchestrator.terminal.screen import Screen

Options = Mapping[str, tuple[str, ...]]
"""Config group -> its options."""

KeysOf = Callable[[str], Options]
"""Start of a key -> keys that may be meant, with their possible values."""

_ALWAYS: Options = {"device": ("auto",)}
"""Values of a group without a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """Command line up to the cursor.

    Attributes:
        before: words before the last one, without the program.
        last: word at the cursor; may be empty.
    """

    before: tuple[str, ...]
    last: str


def typed(line: str) -> Typed:
    """Take a command line apart; an open quote is read to its end."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    is_between = line[-1:].isspace() or not line
    *before, last = [*words[1:], ""] if is_between or len(words) < 2 else words[1:]
    return Typed(before=tuple(before), last=last)


def completions(
    line: Typed, commands: Sequence[Command], shared: Sequence[Flag], *, options: Options, keys_of: KeysOf
) -> list[str]:
    """Return the possible words in place of the last one, sorted.

    Args:
        shared: flags of every command.
    """
    flags = _find_flags(line.before, commands, shared)
    if line.before and (flag := flags.get(line.before[-1])) and flag.value:
        return _starting(flag.choices, line.last)
    if line.last.startswith("-"):
        name, has_value, value = line.last.partition("=")
        if has_value:
            choices = flags[name].choices if name in flags else ()
            return [f"{name}={choice}" for choice in _starting(choices, value)]
        return _starting((name for name in flags if name.startswith("--")), line.last)
    if "=" in line.last:
        return _values(line.last, options, keys_of)
    near = [*_commands(line.before, commands), *_config_words(line.last, options)]
    return _starting(near, line.last) or _starting((f"{key}=" for key in keys_of(line.last)), line.last)


def _find_flags(
    before: Sequence[str], commands: Sequence[Command], shared: Sequence[Flag]
) -> Mapping[str, Flag]:
    """Return the flags of the command that was typed; of the default command if none was."""
    plain = " ".join(word for word in before if word.isidentifier())
    named = [command for command in commands if f"{plain} ".startswith(f"{command.name} ")]
    own = max(named, key=lambda command: len(command.name)).flags if named else commands[0].flags
    return {name: flag for flag in (*own, *shared) for name in (flag.name, flag.short) if name}


def _commands(before: Sequence[str], commands: Sequence[Command]) -> set[str]:
    """Return the words that begin a command, or end one of two words."""
    plain = [word for word in before if word.isidentifier()]
    names = [command.name.split() for command in commands]
    return {name[len(plain)] for name in names if name[: len(plain)] == plain and len(name) > len(plain)}


def _config_words(last: str, options: Options) -> list[str]:
    if last.startswith("+"):
        return ["+sweep=", "+sweep.grid."]
    return ["+sweep=", *(f"{group}=" for group in options if group != "sweep")]


def _values(last: str, options: Options, keys_of: KeysOf) -> list[str]:
    key, _, values = last.partition("=")
    name = key.lstrip("+")
    start, comma, current = values.rpartition(",")
    possible = (*options[name], *_ALWAYS.get(name, ())) if name in options else keys_of(name).get(name, ())
    given = start.split(",")
    fresh = (value for value in possible if value not in given)
    return [f"{key}={start}{comma}{value}" for value in _starting(fresh, current)]


def _starting(words: Iterable[str], start: str) -> list[str]:
    return sorted({word for word in words if word.startswith(start)})


_BASH = """\
_orchestrator() {
    local IFS=$'\\n'
    COMPREPLY=($("${COMP_WORDS[0]}" completion bash --line="${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace
}
complete -o default -F _orchestrator orchestrator
"""
_ZSH = """\
#compdef orchestrator
_orchestrator() {
    local -a found
    found=(${(f)"$(${words[1]} completion zsh --line="${(j: :)words[1,CURRENT]}" 2>/dev/null)"})
    (( $#found )) || { _files; return; }
    compadd -Q -S '' -- ${(M)found:#*[=.]}
    compadd -Q -- ${found:#*[=.]}
}
compdef _orchestrator orchestrator
"""
_BREAKS = "=:"
"""Characters after which bash begins a new word."""


def bash(line: CommandLine, screen: Screen) -> int:  # noqa: ARG001  every command has a screen
    """Print the script for bash, or the words: each without the part that bash has as another word."""
    if LINE.name not in line.flags:
        return _print([_BASH.rstrip()])
    asked = typed(line.flags[LINE.name][-1])
    start = max(asked.last.rfind(character) for character in _BREAKS) + 1
    return _print(word[start:] for word in _words(asked))


def zsh(line: CommandLine, screen: Screen) -> int:  # noqa: ARG001  every command has a screen
    """Print the script for zsh, or the words."""
    if LINE.name not in line.flags:
        return _print([_ZSH.rstrip()])
    return _print(_words(typed(line.flags[LINE.name][-1])))


def _words(asked: Typed) -> list[str]:
    pairs = zip(asked.before, asked.before[1:], strict=False)
    added = [value for flag, value in pairs if flag in (CONFIG_DIR.name, CONFIG_DIR.short)]
    with parsed_arguments([word for word in asked.before if "=" in word]) as words:
        here = Path.cwd()
        places, _ = split_places((*place_words(folders=added, names=()), *words), working_directory=here)
        options = options_in(config_folders(here, places.folders))
        return completions(asked, list_commands(), SHARED_FLAGS, options=options, keys_of=_list_keys)


def _list_keys(start: str) -> Options:
    from orchestrator.config.key_names import settable_keys, workload_keys

    return workload_keys() if start.startswith("workload.") else settable_keys()


def _print(lines: Iterable[str]) -> int:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return DONE
