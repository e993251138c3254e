"""Commands `completion`: the script for a shell, and the words that it asks for."""

import sys
from collections.abc import Iterable
from pathlib import Path

from orchestrator.commands.arguments import parsed_arguments
from orchestrator.commands.catalogue.catalogue import list_commands
from orchestrator.commands.catalogue.machines import LINE
from orchestrator.commands.catalogue.shared_flags import CONFIG_DIR, SHARED_FLAGS
from orchestrator.commands.command_line import DONE, CommandLine
from orchestrator.commands.completions import Options, Typed, completions, typed
from orchestrator.config.places import config_folders, options_in, place_words, split_places
from orchestrator.terminal.screen import Screen

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
