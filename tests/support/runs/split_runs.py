"""Trainings whose convolutions are split over processes, beside the same ones on one device.

As a script: `python split_runs.py FOLDER` forks the ranks of every case. It needs no test package.
"""

import dataclasses
import sys
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from itertools import chain, repeat
from pathlib import Path

from multi_rank_cases import Finding, collect_findings, is_done
from split_layers import OPTIMIZERS, STEPS, works
from trainer_runs import group_jobs, set_up

from orchestrator.core.codec import to_plain
from orchestrator.extensions.kernel_split.training.messages import MASTER
from orchestrator.extensions.kernel_split.training.trainer import KernelSplitTrainer
from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import WorkerJob
from workloads.data.sources import resolve
from workloads.spec import Optimizer

EVEN = {"shares": "even"}
TRAININGS: Mapping[str, tuple[str, str, int, dict[str, str]]] = {
    "torch_ddp": ("torch_ddp", "fp32", 1, {}),
    "one worker": ("kernel_split", "fp32", 1, {}),
    "two workers": ("kernel_split", "fp32", 2, {}),
    "four workers": ("kernel_split", "fp32", 4, EVEN),
    "eight workers": ("kernel_split", "fp32", 8, EVEN),
    "torch_ddp, bf16": ("torch_ddp", "bf16", 1, {}),
    "two workers, bf16": ("kernel_split", "bf16", 2, EVEN),
}
"""Trainer, precision, workers and options of a training of mnist_cnn."""

OPTIONS = {"filters": (7, 13), "dense_units": 32, "learning_rate": 0.003, "momentum": 0.9}
"""Kernels that none of those numbers of workers divides, and fewer than the last of them."""

MOVED_STEPS = 54

MOVED: Mapping[str, tuple[str, int, dict[str, str]]] = {
    "moved": ("kernel_split", 2, {**EVEN, "rebalance": "on"}),
    "whole": ("torch_ddp", 1, {}),
}
"""Trainer, workers and options where the second rank, and later the first, seems to be slow."""


class SlowClock:
    """Ticks as it is read, by so many seconds before a number of readings and after it."""

    def __init__(self, before: float, after: float) -> None:
        self._ticks = chain(repeat(before, 700), repeat(after))
        self._now = 0.0

    def __call__(self) -> float:
        self._now += next(self._ticks)
        return self._now


def outcomes() -> dict[str, list[Finding]]:
    """Return each rank's findings by the name of the case."""
    return collect_findings(__file__)


def _main(folder: Path) -> int:
    for module in trainer_info("kernel_split").preload:
        import_module(module)
    for name, ranks, work in works():
        jobs = group_jobs("kernel_split", "mnist_cnn", ("fp32", ranks, ranks), data=folder)
        if not is_done(folder, name, jobs, work):
            return 1
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=folder, download=False).path
    for name, (trainer, precision, ranks, options) in TRAININGS.items():
        shape = (precision, ranks, ranks)
        jobs = group_jobs(trainer, "mnist_cnn", shape, data=data, options=options, workload_options=OPTIONS)
        if not is_done(folder, name, jobs, _train_as_asked):
            return 1
    for name, (trainer, ranks, options) in MOVED.items():
        for optimizer, each in OPTIMIZERS.items():
            shape = ("fp32", ranks, ranks)
            jobs = group_jobs(
                trainer, "mnist_cnn", shape, data=data, options=options, workload_options=OPTIONS
            )
            if not is_done(folder, f"{name}, {optimizer}", jobs, partial(_train_on_slow_clocks, each)):
                return 1
    return 0


def _train_as_asked(job: WorkerJob) -> Finding:
    """Through the trainer: losses, quality, what the rank says of itself, and its weights."""
    spec, trainer = set_up(job)
    trainer.begin(spec.phases[0])
    losses = []
    for index in range(STEPS):
        trainer.step(index)
        trainer.synchronize()
        losses.append(trainer.losses()["model"])
    found = {
        "losses": losses,
        "quality": trainer.evaluate(100),
        "samples": trainer.samples,
        "facts": to_plain(trainer.device_facts()),
        "state": {name: array.tolist() for name, array in trainer.state().items()},
    }
    trainer.close()
    return found


def _train_on_slow_clocks(optimizer: Optimizer, job: WorkerJob) -> Finding:
    """Through the trainer: what the rank says of itself, and all that a checkpoint holds."""
    clock = SlowClock(*((1.0, 64.0) if job.rank == MASTER else (4.0, 4.0)))
    spec, trainer = set_up(job, KernelSplitTrainer(clock) if job.trial.trainer == "kernel_split" else None)
    trainer.begin(dataclasses.replace(spec.phases[0], optimizers={"model": optimizer}))
    for index in range(MOVED_STEPS):
        trainer.rebalance()
        trainer.step(index)
        if index % 7 == 0:
            trainer.evaluate(10)
    arrays = trainer.checkpoint()
    state = trainer.state()
    found = {
        "facts": to_plain(trainer.device_facts()),
        "state": {name: array.tolist() for name, array in state.items()},
        "checkpoint": {name: array.tolist() for name, array in arrays.items()},
    }
    trainer.close()
    return found


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
