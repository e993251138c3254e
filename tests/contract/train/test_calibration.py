"""Real trials of every trainer on a CPU measure what their processor does at most, if they are asked to."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from builders import placement, trial_spec
from noop_trials import context, noop, run
from trainer_runs import WORKLOADS, python_of

from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrainResult, TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve

RANKS = {"torch_ddp": 2, "tensorflow": 2, "torch_xla": 1}
"""Processes of a trial of two workers."""


def trial(trainer: str, *, workers: int = 1, calibrate: bool = True) -> Placement:
    spec = trial_spec(
        trainer=trainer,
        workload_options=WORKLOADS["mnist_cnn"],
        host_cpu=f"{cpu_model()} x2",
        num_workers=workers,
        process_model="per_host" if RANKS[trainer] == 1 else "per_replica",
        steps=20,
        timing=TimingSpec(steps_per_block=2, min_blocks=6, max_blocks=6, calibrate=calibrate),
    )
    ranks = RANKS[trainer] if workers > 1 else 1
    return placement(spec, replicas=workers, num_processes=ranks, threads=2 // ranks)


def trials(trainer: str) -> tuple[Placement, ...]:
    """Placements with calibration, without it, and with two workers."""
    return trial(trainer), trial(trainer, calibrate=False), trial(trainer, workers=2)


@cache
def load_records(trainer: str) -> Mapping[str, TrialRecord]:
    """The record of each of these trials, by trial_id."""
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=folder, download=False)
        told = context(
            folder,
            deadlines=Deadlines(resources_seconds=120.0, start_seconds=120.0, run_seconds=240.0),
            data_paths={"synthetic:1": str(data.path)},
            pythons={trainer: str(python_of(trainer))},
        )
        return {record.trial_id: record for record in run(told, *trials(trainer))}


def merge_reports(place: Placement) -> TrainResult:
    record = load_records(place.trial.trainer)[place.trial_id]
    assert record.failure is None
    return record.result


@pytest.mark.more
@pytest.mark.slow_cases("tensorflow", "torch_xla")
@pytest.mark.parametrize("trainer", RANKS)
def test_a_trial_with_a_calibration_has_its_utilisation_of_the_calibrated_peak(trainer: str) -> None:
    place = trial(trainer)
    calibration = merge_reports(place).calibration
    assert calibration.source == "calibrated: fastest of 8 products of 2048 x 2048, this process"
    metrics = collect_metrics(load_records(trainer)[place.trial_id])
    assert 0 < metrics["mfu_calibrated"] <= 1
    assert metrics["calibrated_flops_per_second"] == calibration.flops_per_second
    assert "mfu" not in metrics  # nobody has published that peak


@pytest.mark.slow_cases("torch_xla", "tensorflow")
@pytest.mark.parametrize("trainer", RANKS)
@pytest.mark.more
def test_a_trial_that_was_not_asked_has_no_utilisation(trainer: str) -> None:
    place = trial(trainer, calibrate=False)
    assert merge_reports(place).calibration is None
    assert not [key for key in collect_metrics(load_records(trainer)[place.trial_id]) if "mfu" in key]


@pytest.mark.slow_cases("torch_xla", "tensorflow")
@pytest.mark.parametrize("trainer", RANKS)
@pytest.mark.more
def test_all_processes_of_a_trial_multiply(trainer: str) -> None:
    ranks = merge_reports(trial(trainer, workers=2)).calibration.seconds
    assert [len(products) for products in ranks] == [8] * RANKS[trainer]
    assert all(seconds > 0 for products in ranks for seconds in products)


@pytest.mark.more
def test_a_trainer_without_arithmetic_has_no_calibration(tmp_path: Path) -> None:
    place = noop()
    timing = replace(place.trial.timing, calibrate=True)
    (record,) = run(context(tmp_path), replace(place, trial=replace(place.trial, timing=timing)))
    assert record.failure is None
    assert record.result.calibration is None
