"""A training script that was written without this project, started as a command once for every worker."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from workloads.script.command import (
    EXAMPLES,
    compute_version,
    describe_in_plain_words,
    find_observed_words,
    find_search_path,
    format_words,
    reports_steps,
    require_executable,
    require_script,
)
from workloads.spec import ScriptSpec

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Knobs, written as `script.NAME`.

    Attributes:
        command: words of the command, with placeholders as {precision}.
        folder: working directory of the command; empty: the current one.
        python: path of the interpreter that the word `python` means; empty: the orchestrator's.
        steps_total: optimizer steps of the whole training; 0: not known.
        samples_total: its samples, in place of its steps where a sweep has several batches; 0: not known.
        train_to_end: let the script train on when enough is measured.
        observe: see the steps of a script that does not report them.
    """

    command: str = ""
    folder: str = ""
    python: str = ""
    steps_total: int = 0
    samples_total: int = 0
    train_to_end: bool = False
    observe: bool = False

    def __post_init__(self) -> None:
        for name in ("steps_total", "samples_total"):
            if getattr(self, name) < 0:
                raise ValueError(f"script.{name}={getattr(self, name)} must not be negative")
        if self.steps_total and self.samples_total:
            raise ValueError(
                f"script.steps_total={self.steps_total} and script.samples_total={self.samples_total} both "
                "say how long the training is; leave one out"
            )


def make(options: Options) -> ScriptSpec:
    """Check the command, and describe it."""
    folder = Path(options.folder or ".").expanduser().resolve()
    format_words(options.command, EXAMPLES)
    words = describe_in_plain_words(options.command)
    require_script(words, folder)
    require_executable(shlex.split(options.command)[0], folder, options.python)
    python = str(Path.cwd() / Path(options.python).expanduser()) if options.python else ""
    if python and not Path(python).is_file():
        raise ValueError(
            f"script.python={options.python} is not an interpreter; name one, as .venv/bin/python"
        )
    reports = reports_steps(words, folder)
    if options.observe:
        if reports:
            raise ValueError(
                "script.observe=true is for a script without orchestrator_callback, which this one has"
            )
        interpreter = Path(python or sys.executable)
        find_observed_words(format_words(options.command, EXAMPLES), find_search_path(interpreter))
    return ScriptSpec(
        name="script",
        version=compute_version(words, folder),
        command=options.command,
        folder=str(folder),
        python=python,
        steps_total=options.steps_total or None,
        samples_total=options.samples_total or None,
        train_to_end=options.train_to_end,
        reports=reports or options.observe,
        is_observed=options.observe,
    )
