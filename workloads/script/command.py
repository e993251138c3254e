"""The command of a training script: its words, its placeholders, and the files that it names."""

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import string
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from workloads.script.file_hash import hash_parts, hash_whole

EXAMPLES: Mapping[str, object] = {
    "batch_size_per_worker": 1,
    "device": "cpu",
    "global_batch_size": 1,
    "num_workers": 1,
    "precision": "fp32",
    "seed": 0,
    "steps": 1,
    "torch_device": "cpu",
}
"""Placeholder of a command -> a value of its type; the trial's value takes its place."""

TORCH_DEVICES: Mapping[str, str] = {"cpu": "cpu", "gpu": "cuda", "tpu": "xla"}
"""Kind of device -> the word by which PyTorch names it."""

CALLBACK = "orchestrator_callback"
"""Module by which a script reports its steps."""

OBSERVER = "orchestrator_observer"
"""Module that runs a script and reports the steps that it sees."""

_PYTHON = re.compile(r"python[\d.]*")
_OPTIONS_WITH_VALUE = ("-X", "-W")  # of the interpreter
_MOST_FIRST_LINE = 1024
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_BUILTINS = frozenset({"cd", "export", "set", "source", "ulimit", "unset"})
_OPERATOR = re.compile(r"(\d*|&)(>|<)|(&&?|\|\|?|;)$|.*;$")

_VERSION_DIGITS = 12  # hexadecimal: 48 bits, which every reader of JSON keeps
_SHELLS = ("bash", "sh", "zsh")
_SHELL_TEXT = re.compile(r"-[a-z]*c")  # option of a shell, before the text that it runs
_MOST_WHOLE_BYTES = 2**26  # a tenth of a second
_PART_BYTES = 2**18  # of each of its parts otherwise
_MOST_SHOWN = 60  # characters of arguments
_MOST_SCRIPT_BYTES = 2**20  # larger files are data


def format_words(command: str, values: Mapping[str, object]) -> list[str]:
    """Split a command as a shell does, and fill in its placeholders.

    Raises:
        ValueError: no command, quotes that do not match, words that need a shell, or an unknown placeholder.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"script.command={command!r} cannot be split into words: {error}") from error
    if not words:
        raise ValueError('script.command is missing; as in script.command="python train.py"')
    _require_no_shell(command, words)
    return [_filled(word, values) for word in words]


def _require_no_shell(command: str, words: list[str]) -> None:
    """Check that no word means something to a shell alone; one in quotes is an argument as any other."""
    if _ASSIGNMENT.match(words[0]):
        raise ValueError(
            f"script.command begins with {words[0]}, which a shell would set, and none is started; "
            f"write: env {words[0]} …"
        )
    operators = (word for word in _raw_words(command) if _OPERATOR.match(word))
    needs_shell = words[0] if words[0] in _BUILTINS else next(operators, None)
    if needs_shell:
        raise ValueError(
            f"script.command has {needs_shell!r}, which needs a shell, and none is started; "
            "write: bash -c '…'"
        )


def _raw_words(command: str) -> list[str]:
    """Return the words with their quotes; none where quotes are escaped, which cannot be distinguished so."""
    raw = shlex.shlex(command, posix=False)
    raw.whitespace_split, raw.commenters = True, ""
    try:
        return list(raw)
    except ValueError:
        return []


def _filled(word: str, values: Mapping[str, object]) -> str:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(word) if name is not None]
    except ValueError as error:
        raise ValueError(f"script.command has {word!r}: {error}; a brace itself is {{{{ or }}}}") from error
    for name in names:
        if name not in EXAMPLES:
            known = ", ".join(f"{{{placeholder}}}" for placeholder in EXAMPLES)
            raise ValueError(
                f"script.command has the unknown placeholder {{{name}}}; known: {known}; "
                "a brace itself is {{ or }}"
            )
    try:
        return word.format_map(values)
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"script.command has {word!r}, which cannot be filled in: {error}") from error


def name_command(options: Mapping[str, object]) -> str:
    """Name a script after its file, with a hash of its command and folder: `train-3f2a91`."""
    command, folder = (str(options.get(name, "")) for name in ("command", "folder"))
    words = command.split()
    files = [word for word in words if word.endswith(".py")]
    arguments = [word for word in words[1:] if not word.startswith("-")]
    file = [*files, *arguments, *words, ""][0].rpartition("/")[2].removesuffix(".py")
    stem = re.sub(r"[^A-Za-z0-9]+", "-", file).strip("-")
    return "-".join(filter(None, (stem[:40], hash_name(f"{folder}\0{command}"))))


def list_arguments(command: str) -> str:
    """Return the arguments of a command that are the same in all of its trials: `--epochs 10`."""
    found: list[str] = []
    for word in command.split()[1:]:
        if "{" not in word:
            found.append(word)
        elif found and found[-1].startswith("-"):  # the option that has the placeholder
            found.pop()
    text = " ".join(word for word in found if not word.endswith(".py"))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def hash_name(text: str) -> str:
    """Return six digits that differ between long names."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def describe_in_plain_words(command: str) -> list[str]:
    """Return the words of a command that have no placeholder, those that a shell runs too."""
    return [word for word in _expand_shell(shlex.split(command)) if "{" not in word]


def find_observed_words(words: list[str], search_path: str) -> list[str]:
    """Return a command with a Python that runs the observer, which runs the script.

    Args:
        words: a command with the word `python`, or of a program that is a Python script itself.
        search_path: folders of programs, as in PATH.

    Raises:
        ValueError: no Python is seen to run.
    """
    index = next((i for i, word in enumerate(words) if _PYTHON.fullmatch(Path(word).name)), None)
    if index is None:
        program = shutil.which(words[0], path=search_path)
        interpreter = _find_interpreter(Path(program)) if program else None
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


def find_search_path(interpreter: Path) -> str:
    """Return the PATH of a script's process: the programs of its interpreter come first."""
    return os.pathsep.join([str(interpreter.parent), os.environ.get("PATH", os.defpath)])


def _find_interpreter(program: Path) -> str | None:
    """Return the Python that runs a program, by its first line; None: it is no Python script."""
    with program.open("rb") as file:
        line = file.readline(_MOST_FIRST_LINE).decode(errors="replace")
    words = line.removeprefix("#!").split() if line.startswith("#!") else []
    return next((word for word in words if _PYTHON.fullmatch(Path(word).name)), None)


def require_executable(word: str, folder: Path, python: str) -> None:
    """Check that the first word of a command can be started as a trial does. Raises ValueError.

    Args:
        python: interpreter in the first folder on PATH.
    """
    if "{" in word:  # the trial's value decides
        return
    path = find_search_path(Path(python or sys.executable))
    is_path = os.sep in word
    if shutil.which(str(folder / word) if is_path else word, path=path) is None:
        where = f"in {folder}" if is_path else "on PATH"
        raise ValueError(f"script.command begins with {word!r}, which is no executable {where}")


def require_script(words: list[str], folder: Path) -> None:
    """Check that the Python file that a command names is there. Raises ValueError."""
    if not folder.is_dir():
        raise ValueError(f"script.folder={folder} is not a folder")
    if any(Path(word).name in _SHELLS for word in words):
        return  # which may go to another folder first
    named = next((word for word in words if word.endswith(".py") and not word.startswith("-")), None)
    if named is not None and not (folder / named).is_file():
        raise ValueError(
            f"script.command names {named}, which is not in {folder}; script.folder=DIR names another"
        )


def compute_version(words: list[str], folder: Path) -> int:
    """Return a number that changes with the content of the files that a command names."""
    digest = hashlib.sha256()
    for word, path in _find_files(words, folder):
        digest.update(f"{word}\n{_hash_content(path)}\n".encode())
    return int(digest.hexdigest()[:_VERSION_DIGITS], 16)


def _hash_content(path: Path) -> str:
    """Hash a file; of a large one, which is data, its size and parts from its beginning to its end."""
    if path.stat().st_size <= _MOST_WHOLE_BYTES:
        return hash_whole(path)
    return hash_parts(path, part_bytes=_PART_BYTES)


def version_with(version: int, command: str, folder: Path, values: Mapping[str, object]) -> int:
    """Return the version of a command for one trial: `version`, changed by the files that its values name.

    Args:
        version: of the words without placeholders.
        values: of the trial's placeholders.
    """
    templates, formatted = shlex.split(command), format_words(command, values)
    words = zip(_expand_shell(templates), _expand_shell(formatted), strict=True)
    filled = [word for template, word in words if "{" in template]
    if not any(_find_files(filled, folder)):
        return version
    digest = hashlib.sha256(f"{version} {compute_version(filled, folder)}".encode())
    return int(digest.hexdigest()[:_VERSION_DIGITS], 16)


def name_files(words: list[str], folder: Path) -> tuple[str, ...]:
    """Return the names of the files that a command names, relative to its folder."""
    return tuple(dict.fromkeys(os.path.relpath(path, folder) for _, path in _find_files(words, folder)))


def find_code_folders(words: list[str], folder: Path) -> tuple[Path, ...]:
    """Return the folders of a command's own code: its working directory, and that of a script elsewhere."""
    scripts = (path.resolve().parent for _, path in _find_files(words, folder) if path.suffix == ".py")
    elsewhere = (path for path in scripts if not path.is_relative_to(folder) and not _is_installed(path))
    return folder, *dict.fromkeys(elsewhere)


def _is_installed(folder: Path) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(folder.parts)


def reports_steps(words: list[str], folder: Path) -> bool:
    """Return whether one of the scripts that a command names has the name of the callback in it."""
    paths = (path for _, path in _find_files(words, folder) if path.stat().st_size <= _MOST_SCRIPT_BYTES)
    return any(CALLBACK.encode() in path.read_bytes() for path in paths)


def _find_files(words: list[str], folder: Path, *, is_shell: bool = False) -> Iterator[tuple[str, Path]]:
    """Yield the words that name readable files of the folder, with their paths.

    A file is named by a word, by its part behind `=` or `@`, as a module behind `-m`, or in a shell script
    that is named so.
    """
    words = _expand_shell(words)
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        for name in _names_in(word, is_module=before == "-m"):
            path = folder / name
            if not (os.access(path, os.R_OK) and path.is_file()):
                continue
            yield word, path
            if not is_shell and (before in _SHELLS or path.suffix == ".sh"):
                with contextlib.suppress(ValueError):  # not text of a shell
                    text = path.read_text(encoding="utf-8")
                    yield from _find_files(_split_shell_text(text), folder, is_shell=True)


def _names_in(word: str, *, is_module: bool) -> tuple[str, ...]:
    if is_module:
        module = word.replace(".", "/")
        return f"{module}.py", f"{module}/__main__.py"
    return tuple(filter(None, dict.fromkeys((word, word.partition("=")[2], word.removeprefix("@")))))


def _expand_shell(words: list[str]) -> list[str]:
    """Return the words of a command, with those of the text behind a shell's `-c` in its place."""
    for index, word in enumerate(words[:-1]):
        if _SHELL_TEXT.fullmatch(word) and any(Path(one).name in _SHELLS for one in words[:index]):
            with contextlib.suppress(ValueError):  # a quote that does not end, which the shell will report
                return [*words[: index + 1], *_split_shell_text(words[index + 1]), *words[index + 2 :]]
    return words


def _split_shell_text(text: str) -> list[str]:
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return list(words)
