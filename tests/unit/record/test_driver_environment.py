"""Facts of the driver: code, git, host, and nothing else."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from repository import ROOT

from orchestrator.core.result import DRIVER_FACTS
from orchestrator.record.driver_environment import driver_environment


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def test_it_names_python_platform_and_host(tmp_path):
    found = driver_environment(tmp_path)
    assert found["python"] == platform.python_version()
    assert found["hostname"] == platform.node()
    assert {"platform", "cpu_model"} <= set(found)


def code_sha256(code, *, cwd):
    command = [
        sys.executable,
        "-c",
        "import orchestrator.record.driver_environment as e; print(e.code_sha256())",
    ]
    told = subprocess.run(command, cwd=cwd, env={"PYTHONPATH": str(code)}, check=True, capture_output=True)
    return told.stdout.strip().decode()


def test_it_names_our_code_by_its_sources_wherever_it_is_run_from(tmp_path):
    for package in ("orchestrator", "workloads"):
        sources = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / "code" / package, ignore=sources)
    first = code_sha256(tmp_path / "code", cwd=tmp_path)
    assert len(first) == 64
    assert code_sha256(tmp_path / "code", cwd="/") == first
    (tmp_path / "code/workloads/names.py").rename(tmp_path / "code/workloads/other.py")
    assert code_sha256(tmp_path / "code", cwd=tmp_path) != first
    assert len(driver_environment(tmp_path)["code_sha256"]) == 64


def test_a_folder_outside_git_has_no_commit(tmp_path):
    assert not {"git_commit", "git_dirty"} & set(driver_environment(tmp_path))


def test_a_folder_in_git_has_its_commit_and_whether_it_has_changes(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "config.yaml").write_text("steps: 1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    clean = driver_environment(tmp_path)
    (tmp_path / "config.yaml").write_text("steps: 2")
    changed = driver_environment(tmp_path)
    assert len(clean["git_commit"]) == 40
    assert (clean["git_dirty"], changed["git_dirty"]) == ("false", "true")


def test_only_python_of_it_is_a_version_of_what_workers_run_with():
    repository = Path(__file__).parent
    assert set(driver_environment(repository)) - set(DRIVER_FACTS) == {"python"}


def test_no_environment_variable_is_in_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ORCHESTRATOR_TEST_SECRET", "hunter2-hunter2")
    found = driver_environment(tmp_path)
    assert not any("hunter2" in value for value in found.values())
    assert not set(found) & set(os.environ)
