"""The hardware test as a dry run on this CPU: the tool works, its page says what ran, and it can fail."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from repository import CHILD_PYTHONPATH, ROOT

TOOL = ROOT / "tools" / "hardware_test.py"


def hardware_test(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": CHILD_PYTHONPATH, "PATH": "/usr/bin:/bin", "HOME": "/tmp"}
    return subprocess.run([sys.executable, TOOL, *words], env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_a_dry_run_passes_every_stage_that_a_cpu_has(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    ended = hardware_test(
        "--device", "cpu", "--quick", "--out", str(tmp_path), "--only", "plan,arithmetic,measure"
    )
    assert ended.returncode == 0, ended.stdout
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("## Dry run on a CPU\n")
    rows = [line.split(" | ")[:2] for line in page.splitlines() if line.startswith("| ")]
    assert rows == [
        ["| stage", "verdict"],
        ["| plan", "passed"],
        ["| arithmetic", "passed"],
        ["| measure", "passed"],
    ]


@pytest.mark.more
def test_a_host_without_the_accelerator_is_refused(tmp_path):
    ended = hardware_test("--device", "h100", "--out", str(tmp_path))
    assert ended.returncode == 2
    assert "--device h100: this machine has no accelerator that a file of conf/device names" in ended.stderr
    ended = hardware_test("--only", "plan,plam", "--out", str(tmp_path))
    assert ended.returncode == 2
    assert "unknown stage 'plam'; known: facts, plan, " in ended.stderr


def test_a_stage_that_fails_is_on_the_page():
    sys.path.append(str(TOOL.parent))
    try:
        from hardware.page import page_of
        from hardware.session import Verdict
    finally:
        sys.path.remove(str(TOOL.parent))
    verdicts = [
        Verdict(stage="plan", passed=True, text="t4 is to be measured"),
        Verdict(stage="gate", passed=True, text="refused"),
        Verdict(stage="gate", passed=False, text="without synchronize: ['measured']"),
    ]
    page = page_of(
        verdicts,
        ["a figure"],
        device="t4",
        driver_name="Tesla T4",
        versions={"torch": "2.13.0", "cuda": "13.0"},
        at=datetime(2026, 11, 24, tzinfo=UTC),
    )
    assert page == (
        "## Hardware test of t4\n\n"
        "Tesla T4, 2026-11-24; torch 2.13.0, cuda 13.0. Command: `make hardware-test`.\n\n"
        "| stage | verdict | checks |\n|---|---|---|\n"
        "| plan | passed | 1 of 1 |\n| gate | failed | 1 of 2 |\n\n"
        "- Failed: gate: without synchronize: ['measured']\n- a figure\n"
    )
