"""Jobs of one's own in `predict`: predicted from their counts with a wide interval, or refused."""

import json
from pathlib import Path

import pytest

from orchestrator.cli import main

pytest.importorskip("torch", reason="torch is not installed")

JOBS = f"workload_path={Path(__file__).parents[3] / 'docs' / 'examples' / 'jobs'}"


def predictions(capsys, *words):
    assert main(["predict", "--json", JOBS, "workload_seconds=600", *words]) == 0
    return json.loads(capsys.readouterr().out)["predictions"]


def test_a_job_of_ones_own_is_predicted_from_its_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ("workload=tiny_bert", "trainer=torch_ddp", "device=t4", "global_batch_size=64,256")
    small, large = predictions(capsys, *words)
    assert small["provenance"] == large["provenance"] == "predicted"
    for one in (small, large):
        step = one["step_seconds"]
        assert 2.5 < step["high"] / step["median"] < 8.0, "nothing alike was published"
        assert "by counts, for nothing alike was published" in one["source"]
    assert small["step_seconds"]["median"] < large["step_seconds"]["median"]


def test_a_job_with_less_work_than_all_that_was_measured_is_refused_with_the_reason(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (found,) = predictions(capsys, "workload=digits", "trainer=torch_ddp", "device=t4")
    assert found["provenance"] == "refused"
    assert "measured were" in found["refusal"]["reason"]
