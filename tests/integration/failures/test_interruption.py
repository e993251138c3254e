"""A sweep that is interrupted: one line, exit code 130, nothing left alive, and what has finished is kept."""

import os
import signal
import subprocess

import pytest
from cli_process import NOOP, command, environment, records_in, wait_for_stage
from process_tracking import Family, family

WORDS = (*NOOP, "trainer.fault=none,hang", "checkpoint.grace_seconds=1")
"""The first trial finishes, and the second one never does, nor does it heed a notice."""


def ctrl_c(driver: subprocess.Popen) -> None:
    """A terminal sends it to every process of the job."""
    os.killpg(driver.pid, signal.SIGINT)


def heed_ctrl_c() -> None:
    """Handle Ctrl-C as a terminal's job does; a script's background job inherits that it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def terminate(driver: subprocess.Popen) -> None:
    driver.terminate()


@pytest.fixture
def relatives(monkeypatch):
    with family(monkeypatch) as started:
        yield started


@pytest.mark.more_except("inline-ctrl_c")
@pytest.mark.slow_cases("ray-terminate")
@pytest.mark.parametrize("interrupt", [ctrl_c, terminate])
@pytest.mark.parametrize("executor", ["inline", "ray"])
def test_an_interrupted_sweep_prints_one_line_and_leaves_no_process(
    tmp_path, relatives: Family, executor, interrupt
):
    driver = subprocess.Popen(
        command(*WORDS, f"executor={executor}"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    with driver:
        wait_for_stage(tmp_path, "running", trials=2)
        interrupt(driver)
        error = driver.stderr.read()
    assert (driver.returncode, error) == (
        130,
        "error: interrupted; finished trials are kept, and the same command runs the rest\n",
    )
    relatives.wait_until_gone()
    finished, left = records_in(tmp_path)
    assert finished["result"] is not None
    assert left["failure"]["kind"] == "preempted"
