"""The built wheel works from an empty directory: it carries `conf/` and all that a worker needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_process import NOOP

from orchestrator.extension import VARIABLE

pytestmark = pytest.mark.more


def ask(installed: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    # `-P` and the folder first on the path: the repository, which is installed too, is not what is imported.
    return subprocess.run(
        [sys.executable, "-P", "-m", "orchestrator", *words],
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name != VARIABLE}
        | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_its_own_configs_plan_a_sweep(installed: Path, tmp_path: Path) -> None:
    assert (installed / "orchestrator/conf/sweep/smoke.yaml").exists()
    told = ask(installed, "plan", "--json", "+sweep=tpu_vs_gpu", "data=synthetic", cwd=tmp_path)
    assert told.returncode == 0
    # Memory is asked about once on a machine; its answers are kept.
    kinds = {line.partition(":")[0] for line in told.stderr.splitlines()}
    assert {"data"} <= kinds <= {"data", "memory"}
    assert json.loads(told.stdout)["placements"]


def test_its_own_code_trains_a_trial(installed: Path, tmp_path: Path) -> None:
    told = ask(installed, *NOOP, cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    [record] = [
        json.loads(line) for line in (tmp_path / "outputs/smoke/records.jsonl").read_text().splitlines()
    ]
    assert record["result"]["steps"] == 300
    assert (tmp_path / "outputs/smoke/report.html").exists()
