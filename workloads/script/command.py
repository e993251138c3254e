"""The command of a training script: its words, its placeholders, and the files that it names."""

import hashlib
import shlex
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

PLACEHOLDERS = (
    "batch_size_per_worker",
    "device",
    "global_batch_size",
    "num_workers",
    "precision",
    "seed",
    "steps",
)
"""Names in braces that a command may have; each is replaced by the trial's value."""

CALLBACK = "orchestrator_callback"
"""Module by which a script reports its steps."""

_VERSION_DIGITS = 12  # hexadecimal: 48 bits, which every reader of JSON keeps


def words_of(command: str, values: Mapping[str, object]) -> list[str]:
    """Split a command as a shell does, and fill in its placeholders.

    Raises:
        ValueError: no command, quotes that do not match, or an unknown placeholder.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"script.command={command!r} cannot be split into words: {error}") from error
    if not words:
        raise ValueError('script.command is missing; as in script.command="python train.py"')
    return [_filled(word, values) for word in words]


def _filled(word: str, values: Mapping[str, object]) -> str:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(word) if name is not None]
    except ValueError as error:
        raise ValueError(f"script.command has {word!r}: {error}; a brace itself is {{{{ or }}}}") from error
    for name in names:
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
            raise ValueError(f"script.command has the unknown placeholder {{{name}}}; known: {known}")
    return word.format_map(values)


def require_script(words: list[str], folder: Path) -> None:
    """Check that the Python file that a command names is there. Raises ValueError."""
    if not folder.is_dir():
        raise ValueError(f"script.folder={folder} is not a folder")
    named = next((word for word in words if word.endswith(".py")), None)
    if named is not None and not (folder / named).is_file():
        raise ValueError(
            f"script.command names {named}, which is not in {folder}; script.folder=DIR names another"
        )


def version_of(words: list[str], folder: Path) -> int:
    """Return a number that changes with the content of the files that a command names."""
    digest = hashlib.sha256()
    for word, content in _files_of(words, folder):
        digest.update(f"{word}\n".encode() + content)
    return int(digest.hexdigest()[:_VERSION_DIGITS], 16)


def reports_steps(words: list[str], folder: Path) -> bool:
    """Return whether one of the files that a command names has the name of the callback in it."""
    return any(CALLBACK.encode() in content for _, content in _files_of(words, folder))


def _files_of(words: list[str], folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the words that are files, or modules of the folder behind `-m`, with their content."""
    for index, word in enumerate(words):
        module = word.replace(".", "/") if index and words[index - 1] == "-m" else None
        names = (word,) if module is None else (f"{module}.py", f"{module}/__main__.py")
        for name in names:
            if (folder / name).is_file():
                yield word, (folder / name).read_bytes()
