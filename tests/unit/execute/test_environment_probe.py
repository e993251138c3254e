"""Versions of a trainer's packages in an interpreter."""

import sys
from dataclasses import replace
from pathlib import Path

import process_tracking
import pytest

from orchestrator.core.trainer import TrainerInfo
from orchestrator.execute.machine import environment_probe as probe
from orchestrator.execute.machine.environment_probe import trainer_environment
from orchestrator.train.registry import trainer_info

_HERE = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"


def needing(*packages: str) -> TrainerInfo:
    return replace(
        trainer_info("torch_ddp"), packages=packages, install="pip install torch", precision_packages={}
    )


@pytest.fixture
def program(tmp_path):
    """Makes a file that can be started as an interpreter, of the lines given."""

    def make(*lines: str) -> str:
        path = tmp_path / "python"
        path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
        path.chmod(0o755)
        return str(path)

    return make


def test_our_own_interpreter_is_asked_without_starting_another():
    found = trainer_environment(needing("numpy"), python=None)
    assert found.python == sys.executable
    assert found.versions["python"] == _HERE
    assert found.missing is None


def test_another_interpreter_is_asked_for_its_own_packages():
    found = trainer_environment(needing("numpy"), python=sys.executable)
    assert found == trainer_environment(needing("numpy"), python=None)


def test_a_package_that_is_not_installed_is_named_with_its_cure():
    found = trainer_environment(needing("numpy", "torch_tpu"), python=sys.executable)
    assert found.missing == "torch_tpu not installed; get it with: pip install torch"
    assert set(found.versions) == {"python", "numpy"}


def test_all_packages_that_are_not_installed_are_named():
    found = trainer_environment(needing("torch_tpu", "torch_gpu"), python=None)
    assert found.missing == "torch_tpu, torch_gpu not installed; get it with: pip install torch"


@pytest.mark.parametrize("python", [None, sys.executable])
def test_a_precision_without_its_package_is_named_with_its_cure(python):
    needed = {"fp8": ("torchfp", "pip install torchfp"), "fp6": ("numpy", "pip install numpy")}
    found = trainer_environment(replace(needing("pyyaml"), precision_packages=needed), python=python)
    assert found.missing is None
    assert found.precision_missing == {
        "fp8": "precision=fp8 needs torchfp, which is not installed; get it with: pip install torchfp"
    }
    assert set(found.versions) == {"python", "pyyaml", "numpy"}


def test_an_interpreter_that_is_not_there_is_shown_with_its_cure(tmp_path):
    python = str(tmp_path / "bin" / "python")
    found = trainer_environment(needing("numpy"), python=python)
    assert found.missing == f"no Python at {python}; get it with: pip install torch"
    assert (found.python, found.versions) == (python, {})


def test_an_empty_name_leaves_a_trainer_out():
    found = trainer_environment(needing("numpy"), python="")
    assert found.missing == "trainer.python names none; get it with: pip install torch"


def test_an_interpreter_that_fails_is_shown_with_its_cure(program):
    python = program("exit 3")
    found = trainer_environment(needing("numpy"), python=python)
    assert found.missing == (f"{python} does not answer (CalledProcessError); get it with: pip install torch")


def test_a_program_that_is_no_interpreter_is_shown_with_its_cure(program):
    found = trainer_environment(needing("numpy"), python=program("echo hello"))
    assert "does not answer (JSONDecodeError); get it with: " in found.missing


def test_a_folder_is_no_interpreter(tmp_path):
    found = trainer_environment(needing("numpy"), python=str(tmp_path))
    assert "does not answer (PermissionError); get it with: " in found.missing


def test_an_interpreter_named_by_a_relative_path_is_kept_by_its_absolute_one(program, tmp_path, monkeypatch):
    program(f'exec {sys.executable} "$@"')
    monkeypatch.chdir(tmp_path)
    assert trainer_environment(needing("numpy"), python="./python").python == str(tmp_path / "python")


def test_an_interpreter_with_a_name_that_is_too_long_is_absent():
    assert trainer_environment(needing("numpy"), python="x" * 5000).missing.startswith("no Python at xxx")


@pytest.mark.parametrize(
    "lines", [("sleep 600",), ("sleep 600 &", "sleep 600"), ("cat /dev/zero &", "sleep 600")]
)
def test_an_interpreter_that_does_not_answer_is_ended_with_all_that_it_started(program, monkeypatch, lines):
    monkeypatch.setattr(probe, "_PROBE_SECONDS", 0.5)
    python = program(*lines)
    with process_tracking.family(monkeypatch):  # at its end none may be left
        found = trainer_environment(needing("numpy"), python=python)
    assert found.missing == f"{python} does not answer (TimeoutError); get it with: pip install torch"
    assert found.versions == {}


def test_an_interpreter_that_has_answered_leaves_no_process(program, monkeypatch):
    python = program("sleep 600 &", f'exec {sys.executable} "$@"')
    with process_tracking.family(monkeypatch):
        found = trainer_environment(needing("numpy"), python=python)
    assert found.missing is None
    assert set(found.versions) == {"python", "numpy"}


def beside_this_one(monkeypatch, tmp_path, program):
    """Put an interpreter into `.venv-xla` beside the environment of this one; leave its folder."""
    python = tmp_path / "installed/.venv-xla/bin/python"
    python.parent.mkdir(parents=True)
    Path(program(f'exec {sys.executable} "$@"')).rename(python)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "installed/.venv"))
    monkeypatch.delenv("XLA_PYTHON", raising=False)
    monkeypatch.chdir(tmp_path)
    return python


def test_an_interpreter_is_found_beside_the_environment_of_this_one(monkeypatch, tmp_path, program):
    python = beside_this_one(monkeypatch, tmp_path, program)
    info = replace(needing("numpy"), python_variable="XLA_PYTHON")
    assert trainer_environment(info, python=".venv-xla/bin/python").python == str(python)
    monkeypatch.setenv("XLA_PYTHON", ".venv-xla/bin/python")
    assert trainer_environment(info, python=".venv-xla/bin/python").missing.startswith("no Python at .venv-x")


@pytest.mark.parametrize(
    ("makefile", "cure"),
    [
        (None, "pip install torch"),
        ("all:\n", "pip install torch"),
        ("xla: x\n", "make xla, or pip install torch"),
    ],
)
def test_make_is_advised_where_a_makefile_has_the_target(makefile, cure, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if makefile:
        (tmp_path / "Makefile").write_text(makefile)
    info = replace(needing("numpy"), install="make xla, or pip install torch")
    assert trainer_environment(info, python="/nowhere").missing.endswith(f"; get it with: {cure}")
