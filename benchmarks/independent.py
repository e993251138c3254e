"""The scripts in `bare/` beside our trial of the same training: same arrays, threads, steps and blocks."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from trials import records_of, require_all, sweep_of

from orchestrator import pipeline
from orchestrator.core.placement import Placement
from orchestrator.train.variables import without_hidden_settings
from workloads.data import batches
from workloads.initial import initial_weights
from workloads.registry import workload
from workloads.spec import Sgd, WorkloadSpec

_WARMUP_STEPS = 20

SCRIPTS = {
    "torch_ddp": ("with_torch.py", {}),
    "tensorflow": ("with_tensorflow.py", {"TF_CPP_MIN_LOG_LEVEL": "2"}),
    "torch_xla": ("with_torch_xla.py", {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": "1", "NPROC": "{threads}"}),
}
"""Trainer -> the script of its framework, and the variables that a user would set for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How many steps are timed, and how often, on either side."""

    blocks: int
    steps_per_block: int

    def overrides(self) -> tuple[str, ...]:
        """For our side: no more blocks where the interval is tight, and no steps after them."""
        return (
            f"measure.warmup_steps={_WARMUP_STEPS}",
            f"measure.max_warmup_steps={_WARMUP_STEPS}",
            f"measure.min_blocks={self.blocks}",
            f"measure.max_blocks={self.blocks}",
            f"measure.steps_per_block={self.steps_per_block}",
            f"steps={1 + _WARMUP_STEPS + self.blocks * self.steps_per_block}",
        )

    def words(self) -> tuple[str, ...]:
        """For a script."""
        return (
            f"--warmup-steps={_WARMUP_STEPS}",
            f"--blocks={self.blocks}",
            f"--steps-per-block={self.steps_per_block}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Samples per second of one run: of its median block, and of its fastest."""

    median: float
    best: float


def rates_of(block_seconds: Sequence[float], *, samples_per_block: int) -> Rates:
    """What one rank's blocks come to."""
    return Rates(
        median=samples_per_block / median(block_seconds), best=samples_per_block / min(block_seconds)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """A script, ready to be started: its command line, its variables, and what it must have built."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    num_parameters: int
    batch_size: int

    def rates(self, protocol: Protocol) -> Rates:
        """Run it in a process of its own."""
        found = subprocess.run(
            (*self.command, *protocol.words()),
            env=dict(self.variables),
            stdout=subprocess.PIPE,
            text=True,
        )
        if found.returncode:
            sys.exit(f"{Path(self.command[1]).name} ended with {found.returncode}; its error is above")
        said = json.loads(found.stdout.splitlines()[-1])
        require_training(said, num_parameters=self.num_parameters)
        samples = self.batch_size * protocol.steps_per_block
        return rates_of(said["block_seconds"], samples_per_block=samples)


def require_training(said: Mapping[str, Any], *, num_parameters: int) -> None:
    """Exit unless a script trained a network as large as ours, and it learnt."""
    losses = said["losses"]
    if said["parameters"] != num_parameters:
        sys.exit(f"the script's network has {said['parameters']} parameters; ours has {num_parameters}")
    if not losses[-1] < losses[0]:
        sys.exit(f"the script's loss did not fall: {losses[0]} at first, {losses[-1]} at last")


def point_of(trainer: str) -> tuple[str, ...]:
    """One trial of the trainer, as a command line would ask for it."""
    common = ("+sweep=smoke", "executor=inline", "precision=fp32", "sweep.include=[]")
    return (*common, f"trainer={trainer}")


def our_rates(trainer: str, protocol: Protocol) -> Rates:
    """Run the trial in fresh processes, its nursery included."""
    (record,) = records_of(*point_of(trainer), *protocol.overrides())
    assert record.result is not None, "failures end the benchmark"
    samples = record.spec.global_batch_size * protocol.steps_per_block
    return rates_of(record.result.block_seconds[0], samples_per_block=samples)


@contextmanager
def bare_of(trainer: str, protocol: Protocol) -> Iterator[Bare]:
    """The script with the arrays, the threads and the interpreter that our trial would have."""
    with sweep_of(*point_of(trainer), *protocol.overrides()) as (settings, situation):
        plan = pipeline.plan_sweep(settings, situation)
        require_all(plan)
        (placement,) = plan.placements
        (data,) = situation.data.values()
        python = situation.environments[trainer].python
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "batches.npz"
        spec = workload(placement.trial.workload, placement.trial.workload_options)
        _write_batches(file, placement, spec, data_path=data.path)
        yield _bare(trainer, spec, placement, command=(python, file))


def _bare(trainer: str, spec: WorkloadSpec, placement: Placement, *, command: tuple[str, Path]) -> Bare:
    script, variables = SCRIPTS[trainer]
    optimizer, threads = spec.phases[-1].optimizers["model"], str(placement.threads)
    assert isinstance(optimizer, Sgd), "the scripts descend as mnist_cnn does"
    python, file = command
    words = (
        *(python, str(Path(__file__).parent / "bare" / script), str(file), f"--threads={threads}"),
        *(f"--learning-rate={optimizer.learning_rate}", f"--momentum={optimizer.momentum}"),
    )
    threaded = {"OMP_NUM_THREADS": threads, "CUDA_VISIBLE_DEVICES": ""}
    own = {name: value.format(threads=threads) for name, value in variables.items()}
    weights = initial_weights(spec.networks["model"], placement.trial.seed)
    return Bare(
        command=words,
        variables={**without_hidden_settings(os.environ), **threaded, **own},
        num_parameters=sum(each.size for each in weights.values()),
        batch_size=placement.trial.global_batch_size,
    )


def _write_batches(file: Path, placement: Placement, spec: WorkloadSpec, *, data_path: Path) -> None:
    """The batches of one pass, in the order in which our trial trains on them."""
    trial = placement.trial
    data = batches.load(data_path, data=spec.data, global_batch_size=trial.global_batch_size, seed=trial.seed)
    shards = [data.shard(index, rank=0, world_size=1) for index in range(data.num_batches)]
    np.savez(file, **{name: np.stack([shard[name] for shard in shards]) for name in ("x", "y")})
