"""The example of docs/how_to/own_workload.md: the page shows what is there, and every trainer trains it."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_process import ask, records_in
from repository import ROOT
from user_workload import SPEC, write

PAGE = (ROOT / "docs/how_to/own_workload.md").read_text()
EXAMPLES = ROOT / "docs/examples"
GRID = """
defaults: [schema, _self_]
name: own
common: {steps: 200, workload: text_transformer}
grid: {trainer: [tensorflow, torch_ddp, torch_xla]}
include:
  - {trainer: torch_ddp, num_workers: 2}
"""


def test_the_page_shows_every_file_of_the_example_as_it_is() -> None:
    shown = dict(re.findall(r"^`([\w/.]+)`\n\n```\w+\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE))
    of_others = {EXAMPLES / "jobs", EXAMPLES / "scripts"}  # of own_job.md and scripts.md
    files = [
        path
        for path in EXAMPLES.rglob("*")
        if path.suffix in (".py", ".yaml") and not of_others.intersection(path.parents)
    ]
    assert shown == {str(file.relative_to(EXAMPLES)): file.read_text() for file in files}


@pytest.mark.more
def test_its_commands_are_understood(tmp_path: Path) -> None:
    commands = [shlex.split(line)[3:] for line in PAGE.splitlines() if line.startswith("python -m ")]
    assert len(commands) == 3
    (tmp_path / "docs").mkdir()
    shutil.copytree(EXAMPLES, tmp_path / "docs/examples")
    for words in commands:
        asked = [word for word in words if word not in ("plan", "report")]
        told = ask("plan", "--all", *asked, "executor=inline", "tracking=none", cwd=tmp_path)
        assert (told.code, told.err) == (0, "")
        assert "text_transformer cpu torch_ddp fp32" in told.out


@pytest.mark.more
def test_both_frameworks_compute_the_same() -> None:
    parity = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLES]
    done = subprocess.run(parity, cwd=ROOT, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, Any], ...]:
    """Records of its trials under every trainer, on Ray, whose output holds the report's document alone."""
    folder = tmp_path_factory.mktemp("own")
    write(folder, {"conf/sweep/own.yaml": GRID})
    told = ask("run", f"workload_path={EXAMPLES}", "+sweep=own", "tracking=none", "--json", cwd=folder)
    assert told.code == 0, told.err
    assert json.loads(told.out)["counts"]["measured"] == 4
    variables = {"ORCHESTRATOR_WORKLOAD_PATH": str(EXAMPLES)}
    again = ask("plan", "+sweep=own", "tracking=none", cwd=folder, variables=variables)
    assert "to run: 0 to measure, 0 to rehearse; 4 cached" in again.out
    return tuple(records_in(folder, "own"))


@pytest.mark.slow
def test_every_trainer_trains_it_to_its_target(records: tuple[Mapping[str, Any], ...]) -> None:
    trained = sorted((record["spec"]["trainer"], record["spec"]["num_workers"]) for record in records)
    assert trained == [("tensorflow", 1), ("torch_ddp", 1), ("torch_ddp", 2), ("torch_xla", 1)]
    for item in records:
        assert item["result"]["quality"]["worst_recall"] >= 0.9, item["spec"]


@pytest.mark.slow
def test_all_trainers_begin_at_the_same_loss(records: tuple[Mapping[str, Any], ...]) -> None:
    losses = [dict(record["result"]["losses"])[1] for record in records]
    assert max(losses) - min(losses) < 1e-5


@pytest.mark.more
def test_a_record_names_the_code_of_a_users_workload(tmp_path: Path) -> None:
    words = ("+sweep=smoke", "workload=mine", "trainer=noop", "precision=fp32", "sweep.include=[]")
    settings = ("executor=inline", "tracking=none", "data.source=synthetic", "workload_path=[own]")
    for rate in ("0.1", "0.2"):
        write(tmp_path, {"own/mine/spec.py": SPEC.replace("0.1", rate)})
        told = ask(*words, *settings, f"sweep.name=at{rate[-1]}", f"seed={rate[-1]}", cwd=tmp_path)
        assert (told.code, told.err) == (0, "")
    [first], [second] = records_in(tmp_path, "at1"), records_in(tmp_path, "at2")
    assert first["spec"]["workload_version"] == 3
    assert first["environment"]["code_sha256"] != second["environment"]["code_sha256"]
