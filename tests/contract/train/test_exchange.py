"""Cost of the sum of the gradients, measured after the training, without any effect on it."""

import sys
from pathlib import Path

import pytest
from builders import placement, trial_spec
from busy_hosts import with_result
from noop_trials import context, run
from trainer_runs import WORKLOADS

from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.core.placement import Placement
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve


def trial(*, workers: int, **changes: object) -> Placement:
    """Eight steps of torch on as many processes."""
    spec = trial_spec(
        workload_options=WORKLOADS["mnist_cnn"],
        host_cpu=f"{cpu_model()} x2",
        num_workers=workers,
        steps=8,
        timing=TimingSpec(steps_per_block=1, min_blocks=4, max_blocks=4, warmup_steps=3),
    )
    return placement(spec, **{"replicas": workers, "num_processes": workers, "threads": 1, **changes})


@pytest.mark.more
def test_two_processes_take_pairs_of_blocks_after_their_evaluation(tmp_path: Path) -> None:
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=tmp_path, download=False).path
    told = context(
        tmp_path,
        deadlines=Deadlines(resources_seconds=120.0, start_seconds=120.0, run_seconds=120.0),
        pythons={"torch_ddp": sys.executable},
        data_paths={"synthetic:1": str(data)},
    )
    trials = (trial(workers=2), trial(workers=1), trial(workers=2, provenance="rehearsed"))
    two, alone, rehearsed = map(with_result, run(told, *trials))
    assert [len(pairs) for pairs in two.result.exchange_seconds] == [5, 5]
    assert (two.result.steps, two.result.samples) == (8, 8 * 64)
    assert collect_metrics(two)["communication_share"] < 1
    assert alone.result.exchange_seconds == rehearsed.result.exchange_seconds == ()
    assert "communication_share" not in collect_metrics(alone)
