"""Trainings on batches that are dealt out in unequal shares, beside the same ones on one device.

As a script: `python dealt_runs.py FOLDER` forks the ranks of every case. It needs no test package.
"""

import dataclasses
import sys
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from multi_rank_cases import Finding, collect_findings, is_done
from trainer_runs import BATCH, STEPS, WORKLOADS, group_jobs

from orchestrator.core.codec import to_plain
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.torch_ddp_trainer import TorchDdpTrainer
from workloads.data import batches
from workloads.data.batches import Batches
from workloads.data.sources import resolve
from workloads.layers import Activation, BatchNorm, Conv2d, Dense, Flatten, MaxPool2d
from workloads.network import sequential
from workloads.registry import workload
from workloads.spec import WorkloadSpec, phase_steps

STEPS_IN_FLOAT64 = 20
SHARES = {
    "alone": (64,),
    "even": (32, 32),
    "one to seven": (8, 56),
    "three ranks": (1, 42, 21),
}
"""Samples of each rank in a batch of 64."""

NORMALISED = "normalised"
"""The network of mnist_cnn, with batch normalisation."""

IN_FLOAT64 = ("mnist_gan", NORMALISED)
PHASES = "mnist_dbn"
"""A training of three phases, whose protocol is in float32."""

OPTIONS = {"filters": (7, 13), "dense_units": 32, "learning_rate": 0.003, "momentum": 0.9}
DROPS = {"width": 4, "latent": 8, "dropout": 0.3}

EVEN = {"shares": "even"}
TRAININGS: Mapping[str, tuple[str, str, str, int, dict[str, str]]] = {
    "torch_ddp": ("mnist_cnn", "torch_ddp", "fp32", 1, {}),
    "torch_ddp, heap kept": ("mnist_cnn", "torch_ddp", "fp32", 1, {"heap": "kept"}),
    "one worker": ("mnist_cnn", "unequal_ddp", "fp32", 1, {}),
    "two workers": ("mnist_cnn", "unequal_ddp", "fp32", 2, {}),
    "three workers, even": ("mnist_cnn", "unequal_ddp", "fp32", 3, EVEN),
    "torch_ddp, bf16": ("mnist_cnn", "torch_ddp", "bf16", 1, {}),
    "two workers, bf16": ("mnist_cnn", "unequal_ddp", "bf16", 2, {}),
    "dropout, torch_ddp": ("mnist_gan", "torch_ddp", "fp32", 2, {}),
    "dropout, even": ("mnist_gan", "unequal_ddp", "fp32", 2, EVEN),
}
"""Workload, trainer, precision, workers and options."""


def outcomes() -> dict[str, list[Finding]]:
    """Return each rank's findings by the name of the case."""
    return collect_findings(__file__)


def build_spec(task: str) -> WorkloadSpec:
    """Small, without what a framework draws."""
    if task != NORMALISED:
        return workload(task, WORKLOADS[task])
    layers = (
        Conv2d(filters=6, kernel=3, bias=False),
        BatchNorm(),
        Activation(kind="relu"),
        MaxPool2d(size=4),
    )
    network = sequential((28, 28, 1), *layers, Flatten(), Dense(units=10))
    return dataclasses.replace(workload("mnist_cnn", WORKLOADS["mnist_cnn"]), networks={"model": network})


def _main(folder: Path) -> int:
    for module in trainer_info("unequal_ddp").preload:
        import_module(module)
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=folder, download=False).path
    for task in (*IN_FLOAT64, PHASES):
        for name, sizes in SHARES.items():
            shape = ("fp32", len(sizes), len(sizes))
            jobs = group_jobs("torch_ddp", "mnist_cnn", shape, data=data)
            if not is_done(folder, f"{task}, {name}", jobs, partial(_dealt, task, sizes)):
                return 1
    for name, (task, trainer, precision, ranks, options) in TRAININGS.items():
        shape = (precision, ranks, ranks)
        own = OPTIONS if task == "mnist_cnn" else DROPS
        jobs = group_jobs(trainer, task, shape, data=data, options=options, workload_options=own)
        if not is_done(folder, name, jobs, _as_asked):
            return 1
    return 0


def _dealt(task: str, sizes: tuple[int, ...], job: WorkerJob) -> Finding:
    """Train on these shares, in float64 if the task can: the weights, and the first loss and the last one."""
    spec = build_spec(task)
    data = _batches(spec, job)
    trainer = TorchDdpTrainer()
    trainer.prepare(spec, job)
    end = list(accumulate(sizes))[job.rank]
    trainer.feed(data, range(end - sizes[job.rank], end))
    if task in IN_FLOAT64:
        _to_float64(trainer)
    steps = STEPS_IN_FLOAT64 if task in IN_FLOAT64 else STEPS
    losses: list[dict[str, float]] = []
    for phase, last in zip(spec.phases, accumulate(phase_steps(spec.phases, steps)), strict=True):
        trainer.begin(phase)
        for index in range(len(losses), last):
            trainer.step(index)
            losses.append(dict(trainer.losses()))
    found = {"losses": losses, "samples": trainer.samples, "state": _listed(trainer.state())}
    trainer.close()
    return found


def _to_float64(trainer: TorchDdpTrainer) -> None:
    """Networks are built in float32, and their outputs made that, whatever is asked for."""
    trainer._networks.double()
    for _, network in trainer._networks.named():
        network._float = lambda value: value
    trainer._staged = [
        {name: each.double() if each.is_floating_point() else each for name, each in batch.items()}
        for batch in trainer._staged
    ]


def _as_asked(job: WorkerJob) -> Finding:
    """Through the trainer and a checkpoint of it: what the rank says of itself, and its weights."""
    spec = workload(job.trial.workload, job.trial.workload_options)
    data = _batches(spec, job)
    trainer = load_trainer(trainer_info(job.trial.trainer))
    trainer.setup(spec, job, data)
    trainer.begin(spec.phases[0])
    losses = []
    for index in range(STEPS_IN_FLOAT64):
        trainer.step(index)
        losses.append(dict(trainer.losses()))
    kept, counted = trainer.checkpoint(), trainer.samples
    trainer.samples = 0
    trainer.restore({name: np.asarray(array) for name, array in kept.items()})
    found = {
        "losses": losses,
        "quality": trainer.evaluate(100),
        "samples": counted,
        "restored": trainer.samples,
        "facts": to_plain(trainer.device_facts()),
        "state": _listed(trainer.state()),
    }
    trainer.close()
    return found


def _batches(spec: WorkloadSpec, job: WorkerJob) -> Batches:
    path = Path(job.data_path)
    return batches.load(path, data=spec.data, global_batch_size=BATCH, seed=job.trial.seed, noise=spec.noise)


def _listed(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: array.tolist() for name, array in state.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(_main(Path(sys.argv[1])))
