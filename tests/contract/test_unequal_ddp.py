"""Real trials whose batches are dealt out by speed: they pass every gate, learn, and record the shares."""

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from builders import placement, trial_spec
from noop_trials import mission, run

from orchestrator.core import codec
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrainResult, TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve

pytest.importorskip("torch", reason="torch is not installed")

STEPS = 100
SMALL = {"filters": (6, 13), "dense_units": 32, "learning_rate": 0.03, "momentum": 0.9}


def trial(workers: int, *, precision: str = "fp32") -> Placement:
    spec = trial_spec(
        trainer="unequal_ddp",
        workload_options=SMALL,
        precision=precision,
        host_cpu=f"{cpu_model()} x2",
        num_workers=workers,
        steps=STEPS,
        timing=TimingSpec(steps_per_block=5, min_blocks=6, max_blocks=6),
    )
    return placement(spec, replicas=workers, num_processes=workers, threads=1)


TRIALS = {
    "one worker": trial(1),
    "two workers": trial(2),
    "four workers in bf16": trial(4, precision="bf16"),
}


@cache
def records() -> Mapping[str, TrialRecord]:
    """The record of each of these trials, by trial_id."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=folder, download=False).path
        told = mission(
            folder,
            deadlines=Deadlines(resources_seconds=60.0, start_seconds=120.0, run_seconds=120.0),
            data_paths={"synthetic:1": str(data)},
            pythons={"unequal_ddp": sys.executable},
        )
        return {record.trial_id: record for record in run(told, *TRIALS.values())}


@pytest.fixture(params=TRIALS)
def result(request: pytest.FixtureRequest) -> TrainResult:
    record = records()[TRIALS[request.param].trial_id]
    assert record.failure is None
    return record.result


def test_a_dealt_trial_passes_every_gate_and_learns(result: TrainResult) -> None:
    assert (result.steps, result.samples) == (STEPS, STEPS * 64)
    assert result.quality["accuracy"] > 0.5  # a guess is right in 0.1 of the cases
    assert result.unmoved == ()
    assert len(result.exchange_seconds) == (len(result.devices) if len(result.devices) > 1 else 0)


def test_a_record_tells_the_share_of_each_rank_and_what_it_follows(result: TrainResult) -> None:
    shares = [rank.batch_share for rank in codec.from_json(TrainResult, codec.to_json(result)).devices]
    speed = sum(each.samples_per_second for each in shares)
    assert sum(each.samples for each in shares) == 64
    for each in shares:
        assert each.samples == pytest.approx(64 * each.samples_per_second / speed, abs=1)
