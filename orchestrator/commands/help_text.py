"""Help texts: what there is, all of the command line, and one command. Pure."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from orchestrator.commands.command_line import DEFAULT, Command, Flag
from orchestrator.core.printable import PROGRAM

_WIDTH = 79
_INDENT = "  "
_TITLE = "orchestrator: which accelerator, precision, batch size and number of workers\nfor a training job?"
_USAGE = f"usage: {PROGRAM} [COMMAND] [FLAG ...] [KEY=VALUE ...]"
_EXAMPLES = (
    "plan +sweep=smoke",
    "+sweep=smoke precision=fp32,bf16 sweep.repeats=5",
    "report +sweep=smoke report.goal=cheapest",
    "predict workload=vgg16 device=t4,v100",
)
_KEYS = (
    "KEY=VALUE sets a config key, KEY=A,B makes a grid, GROUP=NAME chooses a config file, "
    "+sweep.grid.KEY=[A,B] adds an axis to the sweep, ~sweep.grid.KEY removes one. workload_path=DIR finds "
    "workloads of your own in DIR/NAME, workload_seconds=60 and workload_gigabytes=16 limit their code."
)
_CODES = (
    "Exit codes: 0 all is well; 1 a trial has no result, files differ, or a report file was not written; "
    "2 a wrong request; 130 interrupted."
)


def overview(commands: Sequence[Command], *, sweeps: Iterable[str]) -> str:
    """Show the commands by group, the sweeps, and where to begin: for a command line without words."""
    return "\n".join(
        (
            _TITLE,
            "",
            *_grouped(commands),
            *_listed("Sweeps: +sweep=NAME", sweeps),
            "",
            f"Begin with:  {PROGRAM} {_EXAMPLES[0]}",
            f"More:        {PROGRAM} --help;  COMMAND --help",
        )
    )


def help_text(
    commands: Sequence[Command], flags: Iterable[Flag], *, sweeps: Iterable[str], groups: Iterable[str]
) -> str:
    """Describe the command line.

    Args:
        flags: flags of every command.
        groups: config groups.
    """
    return "\n".join(
        (
            _USAGE,
            "",
            *_grouped(commands),
            *_listed("Sweeps: +sweep=NAME", sweeps),
            *_listed("Config groups: GROUP=NAME", groups),
            "",
            *textwrap.wrap(_KEYS, _WIDTH),
            "",
            "Flags of every command",
            *_two_columns((flag.usage, flag.summary) for flag in flags),
            "",
            "Examples",
            *(line for example in _list_examples(commands) for line in _format_example(example)),
            "",
            *textwrap.wrap(_CODES, _WIDTH),
        )
    )


def format_help(command: Command) -> str:
    """Describe one command: its arguments, flags, keys and examples."""
    flags = list(_two_columns((flag.usage, flag.summary) for flag in command.flags))
    keys = list(_two_columns((key.usage, key.summary) for key in command.keys))
    is_default = " (the default command)" if command.name == DEFAULT else ""
    return "\n".join(
        (
            *_folded(f"usage: {PROGRAM} {command.name} {command.arguments}"),
            "",
            *textwrap.wrap(f"{command.summary}{is_default}", _WIDTH),
            *(["", "Flags", *flags] if flags else []),
            *(["", "Config keys", *keys] if keys else []),
            "",
            "Examples",
            *(line for example in command.examples for line in _format_example(example)),
            "",
            f"Flags of every command, sweeps and config groups: {PROGRAM} --help",
        )
    )


def _list_examples(commands: Iterable[Command]) -> Iterator[str]:
    """Yield the examples without those of commands that no installed extension has."""
    names = {command.name for command in commands}
    return (one for one in _EXAMPLES if "=" in one.split()[0] or one.split()[0] in names)


def _format_example(example: str) -> Iterator[str]:
    """Yield the lines of an example as it is typed; one that is a shell's own line stays."""
    return _folded(f"{_INDENT}{example if example.startswith('eval ') else f'{PROGRAM} {example}'}")


def _folded(command: str) -> Iterator[str]:
    """Yield the lines of a command; all but the last end in a backslash, as a shell reads them."""
    lines = textwrap.wrap(
        command, _WIDTH - 2, subsequent_indent=2 * _INDENT, break_on_hyphens=False, break_long_words=False
    )
    yield from (f"{line} \\" for line in lines[:-1])
    yield lines[-1]


def _grouped(commands: Sequence[Command]) -> Iterator[str]:
    width = max(len(command.name) for command in commands)
    for group, members in groupby(commands, key=lambda command: command.group):
        yield group
        for command in members:
            yield from _row(command.name, command.summary, width=width)
    yield ""


def _listed(title: str, names: Iterable[str]) -> list[str]:
    text = f"{title}, one of: {'  '.join(names)}"
    return textwrap.wrap(text, _WIDTH, subsequent_indent=_INDENT, break_on_hyphens=False)


def _two_columns(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    pairs = list(rows)
    width = max((len(left) for left, _ in pairs), default=0)
    for left, right in pairs:
        yield from _row(left, right, width=width)


def _row(left: str, right: str, *, width: int) -> list[str]:
    """Return the lines of a row; the second column is folded under itself."""
    start = f"{_INDENT}{left:{width}}  "
    return textwrap.wrap(right, _WIDTH, initial_indent=start, subsequent_indent=" " * len(start))
