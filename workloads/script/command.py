"""The command of a training script: its words, its placeholders, and the files that it names."""

import hashlib
import os
import re
import shlex
import shutil
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

EXAMPLES: Mapping[str, object] = {
    "batch_size_per_worker": 1,
    "device": "cpu",
    "global_batch_size": 1,
    "num_workers": 1,
    "precision": "fp32",
    "seed": 0,
    "steps": 1,
}
"""Placeholder of a command -> a value of its type; the trial's value takes its place."""

CALLBACK = "orchestrator_callback"
"""Module by which a script reports its steps."""

OBSERVER = "orchestrator_observer"
"""Module that runs a script and reports the steps that it sees."""

_PYTHON = re.compile(r"python[\d.]*")
_OPTIONS_WITH_VALUE = ("-X", "-W")  # of the interpreter
_MOST_FIRST_LINE = 1024
_VERSION_DIGITS = 12  # hexadecimal: 48 bits, which every reader of JSON keeps
_MOST_SCRIPT_BYTES = 2**20  # larger files are data


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
        if name not in EXAMPLES:
            known = ", ".join(f"{{{placeholder}}}" for placeholder in EXAMPLES)
            raise ValueError(f"script.command has the unknown placeholder {{{name}}}; known: {known}")
    try:
        return word.format_map(values)
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"script.command has {word!r}, which cannot be filled in: {error}") from error


def plain_words_of(command: str) -> list[str]:
    """Return the words of a command that have no placeholder and are no option but `-m`."""
    return [
        word
        for word in shlex.split(command)
        if "{" not in word and (word == "-m" or not word.startswith("-"))
    ]


def observed_words_of(words: list[str], search_path: str) -> list[str]:
    """Return a command whose Python runs the observer, which runs the script.

    Args:
        words: a command with the word `python`, or of a program that is a Python script itself.
        search_path: folders of programs, as in PATH.

    Raises:
        ValueError: no Python is seen to run.
    """
    index = next((i for i, word in enumerate(words) if _PYTHON.fullmatch(Path(word).name)), None)
    if index is None:
        program = shutil.which(words[0], path=search_path)
        interpreter = _interpreter_of(Path(program)) if program else None
        if interpreter is None:
            raise ValueError(
                f"script.observe=true sees Python alone, and script.command begins with {words[0]}; name "
                'Python and the script, as script.command="python train.py"'
            )
        return [interpreter, "-m", OBSERVER, str(program), *words[1:]]
    first = index + 1
    while first < len(words) and words[first].startswith("-") and words[first] != "-m":
        if words[first] == "-c":
            break
        first += 2 if words[first] in _OPTIONS_WITH_VALUE else 1
    if first == len(words) or words[first] == "-c":
        raise ValueError(
            "script.observe=true needs the file of a script, or a module behind -m, after python"
        )
    return [*words[:first], "-m", OBSERVER, *words[first:]]


def search_path_of(interpreter: Path) -> str:
    """Return the PATH of a script's process: the programs of its interpreter come first."""
    return os.pathsep.join([str(interpreter.parent), os.environ.get("PATH", os.defpath)])


def _interpreter_of(program: Path) -> str | None:
    """Return the Python that runs a program, by its first line; None: it is no Python script."""
    with program.open("rb") as file:
        line = file.readline(_MOST_FIRST_LINE).decode(errors="replace")
    words = line.removeprefix("#!").split() if line.startswith("#!") else []
    return next((word for word in words if _PYTHON.fullmatch(Path(word).name)), None)


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
    for word, path in _files_of(words, folder):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256")
        digest.update(f"{word}\n{content.hexdigest()}\n".encode())
    return int(digest.hexdigest()[:_VERSION_DIGITS], 16)


def reports_steps(words: list[str], folder: Path) -> bool:
    """Return whether one of the scripts that a command names has the name of the callback in it."""
    paths = (path for _, path in _files_of(words, folder) if path.stat().st_size <= _MOST_SCRIPT_BYTES)
    return any(CALLBACK.encode() in path.read_bytes() for path in paths)


def _files_of(words: list[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the words that are readable files, or modules of the folder behind `-m`, with their paths."""
    for index, word in enumerate(words):
        module = word.replace(".", "/") if index and words[index - 1] == "-m" else None
        names = (word,) if module is None else (f"{module}.py", f"{module}/__main__.py")
        for name in names:
            if os.access(folder / name, os.R_OK) and (folder / name).is_file():
                yield word, folder / name
