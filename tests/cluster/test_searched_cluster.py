"""An adaptive search on a fake cluster: trials overlap, and a killed driver's trials are not lost."""

import os
import signal
import time
from itertools import pairwise

import pytest
from cli_process import ask, records_in, start

pytest.importorskip("ray", reason="Ray is not installed")

WORDS = (
    "+sweep=smoke",
    "sweep.include=[]",
    "trainer=torch_ddp",
    "precision=fp32",
    "device=t4,v100,h100",
    "global_batch_size=64,256",
    "num_workers=1",
    "steps=80",
    "data.source=synthetic",
    "tracking=none",
    "cluster=fake",
    "pools.idle_seconds=2",
    "search=adaptive",
)


def test_a_search_rehearses_on_several_pools_at_once_and_goes_on_after_a_kill(tmp_path, relatives):
    with start(*WORDS, cwd=tmp_path) as driver:
        while not records_in(tmp_path):
            assert driver.poll() is None
            time.sleep(0.05)
        os.kill(driver.pid, signal.SIGKILL)
    relatives.wait_until_gone(seconds=60)
    before = records_in(tmp_path)
    answer = ask(*WORDS, cwd=tmp_path)
    records = records_in(tmp_path)
    assert answer.code == 0, answer.err
    assert records[: len(before)] == before
    assert len({record["trial_id"] for record in records}) == len(records)
    assert {record["provenance"] for record in records} == {"rehearsed"}
    assert "nothing can be measured here; trials are rehearsed as if they ended as predicted" in answer.out
    assert "Stopped: " in answer.out


def test_trials_of_a_search_overlap(tmp_path, relatives):
    answer = ask(*WORDS, "search.confidence=0.999", cwd=tmp_path)
    assert answer.code == 0, answer.err
    spans = sorted((record["started_at"], record["ended_at"]) for record in records_in(tmp_path))
    assert any(later[0] < earlier[1] for earlier, later in pairwise(spans))


def test_a_search_starts_no_second_trial_with_an_estimate_that_passes_a_cap(tmp_path, relatives):
    """Until one has ended, a trial is estimated at its deadlines, 0.1 hours: there is money for one."""
    deadlines = ("executor.start_seconds=120", "executor.run_seconds=240")
    answer = ask(*WORDS, *deadlines, "search.confidence=0.999", "budget.hours=0.11", cwd=tmp_path)
    assert answer.code == 0, answer.err
    first, *others = sorted(records_in(tmp_path), key=lambda record: record["started_at"])
    assert others
    assert all(record["started_at"] >= first["ended_at"] for record in others)
    assert "of 0.11 node-hours spent" in answer.out
