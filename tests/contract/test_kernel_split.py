"""Real trials whose convolutions are split: they pass every gate, learn, and record what each rank held."""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from builders import placement, trial_spec
from noop_trials import mission, run

from orchestrator.core import codec
from orchestrator.core.placement import Placement
from orchestrator.core.result import DeviceFacts, TrainResult, TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve

pytest.importorskip("torch", reason="torch is not installed")

STEPS = 100
SMALL = {"filters": (6, 13), "dense_units": 32, "learning_rate": 0.03, "momentum": 0.9}


def trial(
    workers: int, *, precision: str = "fp32", workload: str = "mnist_cnn", rebalance: str = "off"
) -> Placement:
    is_mnist = workload == "mnist_cnn"
    spec = trial_spec(
        trainer="kernel_split",
        trainer_options={"rebalance": rebalance},
        workload=workload,
        workload_options=SMALL if is_mnist else {"kernels": (3, 7)},
        data="synthetic:1" if is_mnist else "synthetic:cifar10",
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
    "two workers in bf16": trial(2, precision="bf16"),
    "four workers": trial(4, workload="cifar10_cnn"),
    "two workers that re-balance": trial(2, rebalance="on"),
}


@cache
def records() -> Mapping[str, TrialRecord]:
    """The record of each of these trials, by trial_id."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = {
            "synthetic:1": "workloads.data.mnist:MNIST",
            "synthetic:cifar10": "workloads.data.cifar10:CIFAR10",
        }
        told = mission(
            folder,
            deadlines=Deadlines(resources_seconds=60.0, start_seconds=120.0, run_seconds=120.0),
            data_paths={
                data: str(resolve(name, "synthetic", cache=folder, download=False).path)
                for data, name in paths.items()
            },
            pythons={"kernel_split": sys.executable},
        )
        return {record.trial_id: record for record in run(told, *TRIALS.values())}


@pytest.fixture(params=TRIALS)
def result(request: pytest.FixtureRequest) -> TrainResult:
    record = records()[TRIALS[request.param].trial_id]
    assert record.failure is None
    return record.result


def test_a_split_trial_passes_every_gate_and_learns(result: TrainResult) -> None:
    assert (result.steps, result.samples) == (STEPS, STEPS * 64)
    assert result.quality["accuracy"] > 0.5  # a guess is right in 0.1 of the cases
    assert result.unmoved == ()
    assert result.exchange_seconds == ()  # no step can do without


def first_held(rank: DeviceFacts) -> Iterator[int]:
    """By layer: the kernels that a rank began with."""
    if rank.kernel_moves:
        return iter(rank.kernel_moves[0].before)
    return (share.kernels for share in rank.kernel_shares)


def test_a_record_tells_the_shares_of_each_rank_and_what_they_follow(result: TrainResult) -> None:
    again = codec.from_json(TrainResult, codec.to_json(result))
    assert [each.layer for each in again.devices[0].kernel_shares] == ["model.0", "model.3"]
    held = zip(*map(first_held, again.devices), strict=True)
    layers = zip(*(rank.kernel_shares for rank in again.devices), strict=True)
    for kernels, of_layer in zip(held, layers, strict=True):
        speeds = [each.flops_per_second for each in of_layer]
        for each, speed, count in zip(of_layer, speeds, kernels, strict=True):
            assert count == pytest.approx(each.of_kernels * speed / sum(speeds), abs=1)
