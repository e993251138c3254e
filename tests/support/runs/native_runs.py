"""Native jobs trained by every trainer in processes of their own, whole and left in the middle.

As a script, in a trainer's own environment: `python native_runs.py FOLDER`. It needs no test package.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from repository import CHILD_PYTHONPATH
from trainer_runs import BATCH, COMPILED_SOON, STEPS, do_all, group_jobs, python_of

from orchestrator.core.codec import from_plain, to_plain
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, WorkerJob
from workloads.native.batches import job_batches
from workloads.origins import Origin
from workloads.spec import JobCost, NativeSpec

LEFT_AFTER = 7

TORCH = """
import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import Dataset
from workloads.jobs import TorchJob


class Points(Dataset):
    def __len__(self):
        return 500

    def __getitem__(self, index):
        point = torch.randn(6, generator=torch.Generator().manual_seed(index))
        return {"point": point, "label": (point.sum() > 0).long()}


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.head = nn.Linear(6, 2)

    def forward(self, point):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(point)))))


def build(options):
    model = Tied()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return TorchJob(
        model=model,
        loss=lambda model, batch: functional.cross_entropy(model(batch["point"]), batch["label"]),
        optimizer=optimizer,
        scheduler=torch.optim.lr_scheduler.LambdaLR(  # numpy's numbers, which a checkpoint has to hold
            optimizer, lambda step: 0.5 * (1 + np.cos(np.pi * step / 40))
        ),
        data=Points(),
        clip_norm=0.5,
        accumulation_steps=2,
    )
"""

KERAS = """
import keras
import numpy as np
from workloads.jobs import KerasJob


def build(options):
    points = np.random.default_rng(0).normal(size=(500, 6)).astype(np.float32)
    model = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(6, "tanh", kernel_regularizer="l2"),
            keras.layers.Dense(2, dtype="float32"),
        ]
    )
    rates = keras.optimizers.schedules.CosineDecay(0.05, 40)
    return KerasJob(
        model=model,
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.AdamW(rates),
        data=(points, (points.sum(1) > 0).astype(np.int64)),
    )
"""

SHAPES: dict[str, dict[str, tuple[str, int, int]]] = {
    "torch_ddp": {"alone": ("fp32", 1, 1), "bf16": ("bf16", 1, 1), "two processes": ("fp32", 2, 2)},
    "torch_xla": {
        "alone": ("fp32", 1, 1),
        "bf16": ("bf16", 1, 1),
        "two devices": ("fp32", 1, 2),
        "two hosts": ("fp32", 2, 2),
    },
    "tensorflow": {
        "alone": ("fp32", 1, 1),
        "bf16": ("bf16", 1, 1),
        "two processes": ("fp32", 2, 2),
        "two devices": ("fp32", 1, 2),
    },
}
"""(precision, processes, replicas) of each run of a trainer."""

COST = JobCost(
    flops_per_sample=1.0,
    flops_per_step=0.0,
    winograd_flops_per_sample=0.0,
    value_bytes_per_sample=1.0,
    weight_bytes=1.0,
    gradient_bytes=1.0,
    num_weights=1,
    layers=1,
    time_steps=0,
    recurrent_bytes=0.0,
    has_unused_weights=False,
)


@cache
def ends_of(trainer: str) -> dict[str, list[dict[str, Any]]]:
    """Do all runs of a trainer, once in a test session: what each rank said, by the name of the run."""
    framework = trainer_info(trainer).framework
    with TemporaryDirectory() as name:
        folder = Path(name)
        package = folder / "own_points"
        package.mkdir()
        code = TORCH if framework == "torch" else KERAS
        (package / f"{framework}_job.py").write_text(code)
        origin = Origin(package="own_points", folder=str(package))
        native = NativeSpec(
            name="own_points",
            version=1,
            costs={framework: COST},  # type: ignore[dict-item]  # torch or keras
            data="own:own_points:0",
            train_samples=500,
            quality=None,
            epochs=None,
            accumulation_steps=1,
            unchecked=(),
        )
        runs = {
            run: [
                [
                    replace(job, origin=origin, native=native)
                    for job in group_jobs(trainer, "own_points", shape, data=folder, workload_options={"": 0})
                ]
                for _ in range(3)
            ]
            for run, shape in SHAPES[trainer].items()
        }
        (folder / "runs.json").write_text(json.dumps(to_plain(runs)))
        subprocess.run(
            [python_of(trainer), __file__, folder],
            env={**os.environ, "PYTHONPATH": CHILD_PYTHONPATH, "TF_CPP_MIN_LOG_LEVEL": "2", **COMPILED_SOON},
            check=True,
            timeout=240,
        )
        return {
            run: [_said(folder / f"{run}-{job.rank}") for job in whole] for run, (whole, *_) in runs.items()
        }


def _said(stem: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(Path(f"{stem}-whole.json").read_text())
    for how in ("whole", "resumed"):
        with np.load(f"{stem}-{how}.npz") as arrays:
            said[how] = dict(arrays)
    return said


def _main(folder: Path) -> int:
    runs = json.loads((folder / "runs.json").read_text())
    for module in trainer_info(next(iter(runs.values()))[0][0]["trial"]["trainer"]).preload:
        import_module(module)
    for name, (whole, left, resumed) in runs.items():
        kept = folder / f"{name}-kept.npz"
        works = ((whole, "whole", _whole), (left, "left", partial(_left, kept)))
        for jobs, how, work in (*works, (resumed, "resumed", partial(_resumed, kept))):
            stems = [folder / f"{name}-{rank}-{how}" for rank in range(len(jobs))]
            if not do_all([from_plain(WorkerJob, job) for job in jobs], stems, work=work):
                return 1
    return 0


def _ready(job: WorkerJob, *, first: int) -> Trainer:
    assert job.native is not None
    assert job.origin is not None
    info = trainer_info(job.trial.trainer)
    [framework] = job.native.costs
    trainer = load_trainer(info, native=True)
    batches = job_batches(framework, job.origin, {}, global_batch_size=BATCH, seed=0, pins=False)
    batches.start(rank=job.rank, world_size=job.world_size, first=first, last=STEPS - 1)
    trainer.setup(job.native, job, batches)
    trainer.begin(job.native.phases[0])
    return trainer


def _whole(job: WorkerJob, stem: Path) -> None:
    trainer = _ready(job, first=0)
    losses, counts = [], []
    for index in range(STEPS):
        trainer.step(index)
        trainer.synchronize()
        losses.append(trainer.losses()["model"])
        counts.append(trainer.compile_count())
    facts = trainer.device_facts()
    said = {
        "losses": losses,
        "counts": counts,
        "samples": trainer.samples,
        "precision": facts.precision,
        "devices": facts.count,
        "quality": dict(trainer.evaluate(None)),
    }
    stem.with_suffix(".json").write_text(json.dumps(said))
    np.savez(stem.with_suffix(".npz"), **trainer.state())
    trainer.close()


def _left(kept: Path, job: WorkerJob, _stem: Path) -> None:
    trainer = _ready(job, first=0)
    for index in range(LEFT_AFTER):
        trainer.step(index)
        trainer.synchronize()
    arrays = trainer.checkpoint()
    if job.rank == 0:
        np.savez(kept, **arrays)
    trainer.close()


def _resumed(kept: Path, job: WorkerJob, stem: Path) -> None:
    trainer = _ready(job, first=LEFT_AFTER)
    with np.load(kept) as arrays:
        trainer.restore(dict(arrays))
    for index in range(LEFT_AFTER, STEPS):
        trainer.step(index)
        trainer.synchronize()
    np.savez(stem.with_suffix(".npz"), **trainer.state())
    trainer.close()


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
