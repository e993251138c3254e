"""Commands that the Makefile would run; nothing is made."""

import subprocess
import sys

import pytest
from repository import ROOT


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
    folders = {file.relative_to(ROOT).parts[1] for file in (ROOT / "tests").rglob("test_*.py")}
    assert {f"tests/{folder}" for folder in folders} <= set(dry("test-all").split())


@pytest.mark.parametrize(
    ("python", "is_held"), [(sys.executable, sys.version_info[:2] == (3, 11)), ("false", False)]
)
def test_only_the_python_of_the_tests_is_held_to_their_versions(python: str, is_held: bool) -> None:
    told = dry("--always-make", "install", f"PYTHON={python}", "XLA=0").splitlines()
    [installed] = [
        line for line in told if " --editable '.[torch,tensorflow,dev]'" in line and "$" not in line
    ]
    assert ("--constraint constraints.txt" in installed) == is_held


def test_what_is_left_to_test_all_is_there():
    lines = (ROOT / "tests" / "slow.txt").read_text().splitlines()
    for file, part in (line.split(maxsplit=1) for line in lines if not line.startswith("#")):
        name = part.partition("[")[0]
        assert not name.startswith("test_") or f"def {name}" in (ROOT / file).read_text()
