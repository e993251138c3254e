"""Trainings by torch_ddp with sharded weights, whole and gone on with by other numbers of processes.

As a script: `python sharded_runs.py FOLDER TASK` forks the ranks of every case. It needs no test package.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from multi_rank_cases import Finding, collect_findings, is_done
from native_runs import COST
from torch import nn
from torch.distributed.fsdp import FSDPModule
from trainer_runs import BATCH, STEPS, WORKLOADS, fork, group_jobs, set_up

from orchestrator.core.trial_spec import MemorySettings
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, WorkerJob
from workloads.data.sources import resolve
from workloads.native.batches import job_batches
from workloads.origins import Origin
from workloads.registry import find_origin, workload
from workloads.spec import NativeSpec

LEFT_AFTER = 5

NONE, FULL = MemorySettings(), MemorySettings(sharding="full")
MICRO = MemorySettings(sharding="full", micro_batch_size=8)
HYBRID = MemorySettings(sharding="hybrid")
AGAIN = MemorySettings(sharding="full", activation_checkpointing="full")

CASES: Mapping[str, tuple[tuple[int, MemorySettings, int], ...]] = {
    "alone": ((1, NONE, STEPS),),
    "shards of two": ((2, FULL, STEPS),),
    "micro batches of two": ((2, MICRO, STEPS),),
    "resumed by one": ((2, FULL, LEFT_AFTER), (1, FULL, STEPS)),
}
"""Name -> parts of a training: processes, settings, and the step at which the part ends."""

MORE: Mapping[str, tuple[tuple[int, MemorySettings, int], ...]] = {
    "shards of one": ((1, FULL, STEPS),),
    "checkpointed shards of two": ((2, AGAIN, STEPS),),
    "resumed by two": ((1, FULL, LEFT_AFTER), (2, FULL, STEPS)),
    "shards of four": ((4, FULL, STEPS),),
    "resumed by four": ((2, FULL, LEFT_AFTER), (4, FULL, STEPS)),
    "hybrid shards of four": ((4, HYBRID, STEPS),),
    "hybrid shards resumed by one": ((4, HYBRID, LEFT_AFTER), (1, FULL, STEPS)),
}
"""Cases that take longer; hybrid shards are of two hosts."""

KILLED: Mapping[str, tuple[tuple[int, MemorySettings, int], ...]] = {
    "killed, resumed by two": ((2, FULL, LEFT_AFTER), (2, FULL, STEPS)),
    "killed, resumed by one": ((2, FULL, LEFT_AFTER), (1, FULL, STEPS)),
    "killed, resumed by four": ((2, FULL, LEFT_AFTER), (4, FULL, STEPS)),
}
"""Cases of which a rank is killed in the step after the checkpoint."""

FLOAT8: Mapping[str, tuple[tuple[int, MemorySettings, int], ...]] = {
    "bf16": ((1, NONE, LEFT_AFTER),),
    "alone": ((1, NONE, STEPS),),
    "shards of two": ((2, FULL, STEPS),),
}
"""Cases in fp8, beside one in bf16."""

FLOAT8_RESUMED: Mapping[str, tuple[tuple[int, MemorySettings, int], ...]] = {
    "alone": ((1, NONE, STEPS),),
    "resumed by one": ((2, FULL, LEFT_AFTER), (1, FULL, STEPS)),
}
"""Cases in fp8 that a checkpoint ends and begins."""

_SECONDS_OF_THE_LEFT = 60  # until a rank has seen that another one is gone

LAYERS = """
import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule
from workloads.jobs import TorchJob


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        return torch.randn(6, 15, generator=torch.Generator().manual_seed(index))


def build(options):
    layer = nn.TransformerEncoderLayer(15, 3, 21, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Linear(15, 15), nn.TransformerEncoder(layer, 3), nn.Linear(15, 15))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return TorchJob(
        model=model,
        loss=lambda model, rows: (model(rows) - rows.roll(1, 1)).square().mean(),
        optimizer=optimizer,
        scheduler=torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9),
        data=Rows(),
        clip_norm=0.5,
        evaluate=lambda model: {"accuracy": model(torch.ones(1, 6, 15)).sum().item()},
    )
"""

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 256,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}


def outcomes(task: str, cases: str = "few") -> dict[str, list[Finding]]:
    """Return each rank's findings by the name of the case."""
    return collect_findings(__file__, task, cases)


def _main(folder: Path, task: str, cases: str) -> int:
    in_float8 = {"float8": FLOAT8, "float8, resumed": FLOAT8_RESUMED}
    libraries = ["torchao.float8"] if cases in in_float8 else []
    if libraries and task not in WORKLOADS:
        libraries += ["peft", "transformers.models.llama.modeling_llama"]
    for module in (*trainer_info("torch_ddp").preload, *libraries):
        import_module(module)
    for name, parts in ({"few": CASES, "more": MORE, "killed": KILLED} | in_float8)[cases].items():
        first, precision = 0, "fp32"
        if cases in in_float8:
            precision = "bf16" if name == "bf16" else "fp8"
        for number, (processes, settings, last) in enumerate(parts, start=1):
            jobs = _build_jobs(task, folder, (precision, processes, processes), settings=settings)
            train = partial(_train, folder / f"{name}.npz", range(first, last))
            part = name if number == len(parts) else f"part of {name}"
            if part != name and cases == "killed":
                _kill_one(jobs, folder, partial(_train_and_die, folder / f"{name}.npz"))
            elif not is_done(folder, part, jobs, train):
                return 1
            first = last
    return 0


def _build_jobs(
    task: str, folder: Path, shape: tuple[str, int, int], *, settings: MemorySettings
) -> list[WorkerJob]:
    if task in WORKLOADS:
        data_set = workload(task, WORKLOADS[task]).data.data_set
        data = resolve(data_set, "synthetic", cache=folder, download=False).path
        jobs = group_jobs("torch_ddp", task, shape, data=data)
    else:
        origin, options = _write_job(task, folder)
        native = NativeSpec(
            name=task,
            version=1,
            costs={"torch": COST},
            data=f"own:{task}:0",
            train_samples=None,
            quality=None,
            epochs=None,
            accumulation_steps=1,
            unchecked=(),
        )
        found = group_jobs("torch_ddp", task, shape, data=folder, workload_options=options or {"": 0})
        jobs = [replace(job, origin=origin, native=native) for job in found]
    hosts = 2 if settings.sharding == "hybrid" else 1
    return [replace(job, trial=replace(job.trial, memory_settings=settings, num_hosts=hosts)) for job in jobs]


def _write_job(task: str, folder: Path) -> tuple[Origin, dict[str, Any]]:
    if task in ("full", "lora", "qlora"):
        (folder / "config.json").write_text(json.dumps(CONFIG))
        options = {"model": str(folder), "method": task, "learning_rate": 0.01, "sequence_length": 12}
        return find_origin("causal_lm"), options
    package = folder / "layered"
    package.mkdir(exist_ok=True)
    (package / "torch_job.py").write_text(LAYERS)
    return Origin(package="layered", folder=str(package)), {}


def _kill_one(jobs: list[WorkerJob], folder: Path, work: Callable[[WorkerJob, Path], None]) -> None:
    """Do the work of all ranks, of which the last one kills itself, and end those that live on."""
    children = [fork(job, folder / f"killed-{job.rank}", work) for job in jobs]
    assert os.waitstatus_to_exitcode(os.waitpid(children.pop(), 0)[1]) == -signal.SIGKILL
    until = time.monotonic() + _SECONDS_OF_THE_LEFT
    for child in children:
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.05)
        assert os.waitstatus_to_exitcode(ended[1]) == 1, "it raises for the rank that is gone"


def _train_and_die(kept: Path, job: WorkerJob, _stem: Path) -> None:
    """Train to the checkpoint and on; the last rank dies between the blocks of a forward pass."""
    trainer: Any = _set_up(job, range(STEPS))
    for index in range(LEFT_AFTER):
        trainer.step(index)
    arrays = dict(trainer.checkpoint())
    if job.rank == 0:
        np.savez(kept, **arrays)
    if job.rank == job.world_size - 1:
        *_, last = [part for part in trainer._replica.modules() if isinstance(part, FSDPModule)]
        last.register_forward_pre_hook(lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    trainer.step(LEFT_AFTER)


def _train(kept: Path, steps: range, job: WorkerJob) -> Finding:
    """Train, from a checkpoint if not from the first step; return losses and weights."""
    trainer = _set_up(job, steps)
    if steps.start:
        with np.load(kept) as arrays:
            trainer.restore(dict(arrays))
    losses = []
    for index in steps:
        trainer.step(index)
        losses.append(dict(trainer.losses()))
        if index == steps.start:
            trainer.evaluate(5)  # which must not change the training
    arrays = dict(trainer.checkpoint())
    if job.rank == 0:
        np.savez(kept, **arrays)
    found = {
        "losses": losses,
        "samples": trainer.samples,
        "quality": dict(trainer.evaluate(5)),
        "held": _count_held(trainer),
        "precision": trainer.device_facts().precision,
        "names": sorted(arrays),
        "state": {name: array.tolist() for name, array in trainer.state().items()},
    }
    trainer.close()
    return found


def _set_up(job: WorkerJob, steps: range) -> Trainer:
    if job.native is None:
        spec, trainer = set_up(job)
        trainer.begin(spec.phases[0])
        return trainer
    assert job.origin is not None
    trainer = load_trainer(trainer_info("torch_ddp"), native=True, shards=job.shards > 1)
    options = {} if job.native.name == "layers" else job.trial.workload_options
    batches = job_batches(
        "torch", job.origin, options, global_batch_size=BATCH, seed=0, pins=False, passes=job.passes
    )
    batches.start(rank=job.rank, world_size=job.world_size, first=steps.start, last=STEPS - 1)
    trainer.setup(job.native, job, batches)
    trainer.begin(job.native.phases[0])
    return trainer


def _count_held(trainer: Any) -> float:
    """Return the share of all weights that this process holds between two steps."""
    module: nn.Module = trainer._replica
    weights = list(module.parameters())
    held = sum(getattr(weight, "to_local", lambda weight=weight: weight)().numel() for weight in weights)
    return held / sum(weight.numel() for weight in weights)


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), *sys.argv[2:]))
