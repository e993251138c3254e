"""Trials of small networks in real worker processes on this host, for what every trainer's must show."""

import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from builders import placement, trial_spec
from noop_trials import context, run

from orchestrator.core.placement import Placement
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve

STEPS = 100
_SMALL = {"filters": (6, 13), "dense_units": 32, "learning_rate": 0.03, "momentum": 0.9}
_DATA_SETS = {
    "synthetic:1": "workloads.data.mnist:MNIST",
    "synthetic:cifar10": "workloads.data.cifar10:CIFAR10",
}


def small_trial(trainer: str, workers: int, **changes: Any) -> Placement:
    """Build a trial of a small mnist_cnn with six timed blocks of five steps; `changes` are fields of its
    spec.
    """
    spec = trial_spec(
        **{
            "trainer": trainer,
            "workload_options": _SMALL,
            "host_cpu": f"{cpu_model()} x2",
            "num_workers": workers,
            "steps": STEPS,
            "timing": TimingSpec(steps_per_block=5, min_blocks=6, max_blocks=6),
            **changes,
        }
    )
    return placement(spec, replicas=workers, num_processes=workers, threads=1)


def load_records(trials: Mapping[str, Placement], request: pytest.FixtureRequest) -> dict[str, TrialRecord]:
    """The records of those that the asking module's selected tests have as `result`, by name."""
    tests = (item for item in request.session.items if item.path == request.path)
    names = {test.callspec.params["result"] for test in tests if isinstance(test, pytest.Function)}
    asked = {name: each for name, each in trials.items() if name in names}
    with TemporaryDirectory() as name:
        folder = Path(name)
        told = context(
            folder,
            deadlines=Deadlines(resources_seconds=60.0, start_seconds=120.0, run_seconds=120.0),
            data_paths={
                data: str(resolve(_DATA_SETS[data], "synthetic", cache=folder, download=False).path)
                for data in {item.trial.data for item in asked.values()}
            },
            pythons={item.trial.trainer: sys.executable for item in asked.values()},
        )
        found = {record.trial_id: record for record in run(told, *asked.values())}
    return {name: found[each.trial_id] for name, each in asked.items()}
