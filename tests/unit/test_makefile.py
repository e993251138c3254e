"""What the words of the Makefile come to; nothing is made."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def dry(*words: str) -> str:
    """The commands and variables of `make`."""
    asked = ["make", "--dry-run", "--print-data-base", *words]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("words", "python"),
    [((), ".venv-xla/bin/python"), (("XLA_VENV=/else",), "/else/bin/python"), (("XLA=0",), "")],
)
def test_torch_xlas_python_is_told_unless_it_is_left_out(words: tuple[str, ...], python: str) -> None:
    lines = [line.rstrip() for line in dry("sweep", *words).splitlines()]
    assert f"ORCHESTRATOR_XLA_PYTHON := {python}".rstrip() in lines


def test_every_folder_of_tests_is_run():
    folders = {f"tests/{each.parent.name}" for each in (ROOT / "tests").glob("*/test_*.py")}
    assert folders <= set(dry("test").split())
