"""Reference of the command line, from the table of commands."""

from docsite.markdown import code, table
from orchestrator.commands.catalogue.catalogue import list_commands
from orchestrator.commands.command_line import Command


def command_reference() -> str:
    """Return every command with its flags, as Markdown."""
    return "\n".join(map(_section, list_commands()))


def _section(command: Command) -> str:
    usage = f"python -m orchestrator {command.name} {command.arguments}".rstrip()
    flags = [(code(flag.usage), flag.summary) for flag in command.flags]
    keys = [(code(key.usage), key.summary) for key in command.keys]
    examples = "".join(f"python -m orchestrator {example}\n" for example in command.examples)
    parts = [f"## {command.name}\n", command.summary, f"\n```bash\n{usage}\n```\n"]
    parts += [table(("flag", "effect"), flags)] if flags else []
    parts += [table(("key", "effect"), keys)] if keys else []
    parts += [f"Examples:\n\n```bash\n{examples}```\n"] if examples else []
    return "\n".join(parts)
