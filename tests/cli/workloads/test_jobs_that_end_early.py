"""Jobs whose own code ends before a trial does: `plan` says so, and no trial is started."""

from pathlib import Path

import pytest
from own_jobs import torch_job

from orchestrator.cli import main

pytest.importorskip("torch", reason="torch is not installed")

ONE_CYCLE = """)
def build(options, old=build):
    from dataclasses import replace
    job = old(options)
    return replace(job, scheduler=torch.optim.lr_scheduler.OneCycleLR(job.optimizer, 0.1, total_steps=80)"""


@pytest.mark.more
def test_a_trial_that_is_longer_than_its_scheduler_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    torch_job(tmp_path / "jobs" / "cycle", more=ONE_CYCLE)
    words = ("+sweep=single", "workload_path=jobs", "workload=cycle", "trainer=torch_ddp", "steps=64,81")
    assert main(["plan", *words, "device=cpu", "global_batch_size=10"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "to run: 1 to measure" in told
    assert "the job's scheduler fails after 80 steps, the trial takes 81" in told
