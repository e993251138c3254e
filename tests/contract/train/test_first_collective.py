"""The first collective of a process group, which starts the collective library, belongs to the set-up."""

from pathlib import Path

import pytest
from builders import placement, trial_spec
from busy_hosts import with_result
from noop_trials import context, python_with, run
from trainer_runs import WORKLOADS

from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve

DELAY_SECONDS = 8.0
"""Far above the set-up and the training of this trial."""

_DELAYS_THE_FIRST_COLLECTIVE = f"""
import sys

if "orchestrator.train.process.fork_server" in sys.orig_argv:
    import time
    import torch.distributed as dist

    all_reduce, is_first = dist.all_reduce, True

    def delayed(*arguments, **options):
        global is_first
        time.sleep({DELAY_SECONDS} if is_first else 0.0)
        is_first = False
        return all_reduce(*arguments, **options)

    dist.all_reduce = delayed
"""


@pytest.mark.more
def test_the_start_of_the_collective_library_is_in_the_set_up_and_not_in_the_training(
    tmp_path: Path,
) -> None:
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=tmp_path, download=False).path
    sweep = context(
        tmp_path,
        deadlines=Deadlines(resources_seconds=120.0, start_seconds=120.0, run_seconds=120.0),
        pythons={"torch_ddp": python_with(tmp_path / "delayed", _DELAYS_THE_FIRST_COLLECTIVE)},
        data_paths={"synthetic:1": str(data)},
    )
    spec = trial_spec(
        workload_options=WORKLOADS["mnist_cnn"],
        host_cpu=f"{cpu_model()} x2",
        num_workers=2,
        steps=8,
        timing=TimingSpec(steps_per_block=1, min_blocks=4, max_blocks=4, warmup_steps=3),
    )
    [record] = map(with_result, run(sweep, placement(spec, replicas=2, num_processes=2, threads=1)))
    assert record.result.setup_seconds > DELAY_SECONDS
    assert record.result.training_seconds < DELAY_SECONDS
