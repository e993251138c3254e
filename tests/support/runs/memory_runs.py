"""Trainings by torch_ddp with settings that save memory, beside the same ones without.

As a script: `python memory_runs.py FOLDER` forks the ranks of every case. It needs no test package.
"""

import dataclasses
import sys
from collections.abc import Mapping
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

from multi_rank_cases import Finding, collect_findings, is_done
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parallel import DistributedDataParallel
from trainer_runs import group_jobs, set_up

from orchestrator.core.trial_spec import MemorySettings
from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import WorkerJob
from workloads.data.sources import resolve
from workloads.registry import workload
from workloads.spec import phase_steps
from workloads.with_torch.training import Losses

CASES: Mapping[str, tuple[str, int, MemorySettings]] = {
    f"{task}, {name}": (task, processes, settings)
    for task in ("gpt2", "mnist_cnn", "mnist_dbn")
    for name, processes, settings in (
        ("alone", 1, MemorySettings()),
        ("micro batches", 1, MemorySettings(micro_batch_size=16)),
        ("micro batches of two", 2, MemorySettings(micro_batch_size=8)),
    )
}
"""Name -> workload, processes and settings."""


def outcomes() -> dict[str, list[Finding]]:
    """Return each rank's findings by the name of the case."""
    return collect_findings(__file__)


def _main(folder: Path) -> int:
    for module in trainer_info("torch_ddp").preload:
        import_module(module)
    for name, (task, processes, settings) in CASES.items():
        data_set = workload(task, {}).data.data_set
        data = resolve(data_set, "synthetic", cache=folder, download=False).path
        jobs = group_jobs("torch_ddp", task, ("fp32", processes, processes), data=data)
        chosen = [
            dataclasses.replace(job, trial=dataclasses.replace(job.trial, memory_settings=settings))
            for job in jobs
        ]
        if not is_done(folder, name, chosen, _train):
            return 1
    return 0


def _train(job: WorkerJob) -> Finding:
    """Train, and return losses, samples, final weights, and sizes and exchanges of all passes."""
    spec, trainer = set_up(job)
    sizes: list[int] = []
    exchanges: list[bool] = []

    def note_pass(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if isinstance(module, Losses):
            sizes.append(len(inputs[0]["x"]))
        if isinstance(module, DistributedDataParallel):
            exchanges.append(bool(module.require_backward_grad_sync))

    register_module_forward_pre_hook(note_pass)
    losses: list[dict[str, float]] = []
    for phase, last in zip(spec.phases, accumulate(phase_steps(spec.phases, job.trial.steps)), strict=True):
        trainer.begin(phase)
        for index in range(len(losses), last):
            trainer.step(index)
            losses.append(dict(trainer.losses()))
    state = {name: array.tolist() for name, array in trainer.state().items()}
    trainer.close()
    passes = {"sizes": sizes, "exchanges": exchanges}
    return {"losses": losses, "samples": trainer.samples, "state": state, **passes}


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
