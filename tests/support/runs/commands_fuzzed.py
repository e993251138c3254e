"""One command of a fuzz test, whole and in this process: what it may come to."""

import contextlib
import io
import logging
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hostile_values import is_one_line, outcome

from orchestrator.cli import main
from orchestrator.commands.command_line import DONE, WRONG_REQUEST
from orchestrator.core.printable import MOST_OF_AN_ERROR

BASE = (
    *("+sweep=smoke", "workload=mnist_cnn", "trainer=noop", "device=cpu", "precision=fp32"),
    *("sweep.include=[]", "data.source=synthetic", "executor=inline", "tracking=none"),
)
"""A sweep that is planned in a tenth of a second; words after these win."""


def planned(words: Sequence[str], *, folder: Path, variables: Mapping[str, str] | None = None) -> int:
    """The exit code of `plan`, once it is found to be 0, or 2 with one line on standard error.

    The folder it runs in holds the same files afterwards.
    """
    before = _files(folder)
    told = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(told),
        _as_before(),
        outcome(),
    ):
        patch.chdir(folder)
        patch.setattr(tempfile, "tempdir", str(folder.parent))  # where all of a long error is
        for name, value in (variables or {}).items():
            patch.setenv(name, value)
        code = main(["plan", *words])
    logged = ("WARNING: ", "DEBUG: ")  # the second ones are Hydra's answer to --info
    lines = [line for line in told.getvalue().splitlines() if not line.startswith(logged)]
    assert (code, len(lines)) in ((DONE, 0), (WRONG_REQUEST, 1)), (code, lines)
    assert all(line.startswith("error: ") and is_one_line(line) for line in lines), lines
    assert all(len(line) <= MOST_OF_AN_ERROR for line in lines), lines
    assert _files(folder) == before
    return code


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


@contextlib.contextmanager
def _as_before() -> Iterator[None]:
    """Signals and logging are put back to what they were."""
    on_sigterm, handlers, level = (
        signal.getsignal(signal.SIGTERM),
        logging.root.handlers[:],
        logging.root.level,
    )
    logging.root.handlers[:] = []  # the next command writes to a standard error of its own
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, on_sigterm)
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
