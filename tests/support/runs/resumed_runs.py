"""Trainings that are left in the middle and gone on with in processes of their own.

As a script, in a trainer's own environment: `python resumed_runs.py FOLDER`. It needs no test package.
"""

import json
import os
import subprocess
import sys
from functools import cache, partial
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from repository import CHILD_PYTHONPATH
from trainer_runs import COMPILED_SOON, RUNS, WORKLOADS, do_all, group_jobs, python_of, set_up

from orchestrator.core.codec import from_plain, to_plain
from orchestrator.core.trial_spec import trial_id
from orchestrator.train.checkpoints import format as checkpoint
from orchestrator.train.environment import framework_versions
from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import Trainer, WorkerJob
from workloads.data.sources import resolve
from workloads.registry import workload
from workloads.spec import WorkloadSpec, phase_steps

LEFT_AFTER = {"mnist_cnn": 7, "mnist_gan": 7, "mnist_dbn": 4}
"""Steps before the training is left; of mnist_dbn in the middle of its second phase."""

OPTIONS: dict[str, dict[str, Any]] = {
    "mnist_cnn": WORKLOADS["mnist_cnn"],
    "mnist_gan": {**WORKLOADS["mnist_gan"], "dropout": 0.3},
    "mnist_dbn": WORKLOADS["mnist_dbn"],
}

Ends = dict[str, dict[str, np.ndarray]]
"""`whole` and `resumed` -> the checkpoint after the last step."""


def find_shapes(trainer: str, task: str) -> dict[str, tuple[str, int, int]]:
    """Return the shapes of `RUNS` in fp32, and one whose loss is scaled."""
    shapes = {run: shape for run, shape in RUNS[trainer].items() if shape[0] == "fp32"}
    if trainer == "torch_xla" or task != "mnist_cnn":
        return shapes
    return {**shapes, "fp16": ("fp16", 1, 1)}


@cache
def ends_of(trainer: str, task: str) -> dict[str, list[Ends]]:
    """Return the ends of both trainings per rank, by the run in `find_shapes`; run once per test session."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        data_set = workload(task, OPTIONS[task]).data.data_set
        data = resolve(data_set, "synthetic", cache=folder, download=False).path
        jobs = {
            run: [
                group_jobs(trainer, task, shape, data=data, workload_options=OPTIONS[task]) for _ in range(3)
            ]
            for run, shape in find_shapes(trainer, task).items()
        }
        (folder / "runs.json").write_text(json.dumps(to_plain(jobs)))
        subprocess.run(
            [python_of(trainer), __file__, folder],
            env={**os.environ, "PYTHONPATH": CHILD_PYTHONPATH, "TF_CPP_MIN_LOG_LEVEL": "2", **COMPILED_SOON},
            check=True,
            timeout=240,
        )
        return {run: [_ends(folder / f"{run}-{item.rank}") for item in jobs[run][0]] for run in jobs}


def _ends(stem: Path) -> Ends:
    found = {}
    for how in ("whole", "resumed"):
        with np.load(f"{stem}-{how}.npz") as arrays:
            found[how] = dict(arrays)
    return found


def _main(folder: Path) -> int:
    runs = json.loads((folder / "runs.json").read_text())
    for module in trainer_info(next(iter(runs.values()))[0][0]["trial"]["trainer"]).preload:
        import_module(module)
    for name, (whole, left, resumed) in runs.items():
        kept = folder / f"{name}-kept"
        kept.mkdir()
        works = ((whole, "whole", _whole), (left, "left", partial(_left, kept)))
        for jobs, how, work in (*works, (resumed, "resumed", partial(_resumed, kept))):
            stems = [folder / f"{name}-{rank}-{how}" for rank in range(len(jobs))]
            if not do_all([from_plain(WorkerJob, job) for job in jobs], stems, work=work):
                return 1
    return 0


def _whole(job: WorkerJob, stem: Path) -> None:
    spec, trainer = set_up(job)
    _train(trainer, spec, job, first=0, last=job.trial.steps)
    np.savez(stem.with_suffix(".npz"), **trainer.checkpoint())
    trainer.close()


def _left(kept: Path, job: WorkerJob, _stem: Path) -> None:
    """The first rank's checkpoint is that of all ranks."""
    spec, trainer = set_up(job)
    step = LEFT_AFTER[spec.name]
    phase = _train(trainer, spec, job, first=0, last=step)
    arrays = trainer.checkpoint()
    if job.rank == 0:
        progress = checkpoint.TrainingProgress(
            step=step, phase=phase, samples=trainer.samples, training_seconds=1.0
        )
        checkpoint.write(
            kept, arrays, trial_id=trial_id(job.trial), packages=_find_packages(job), progress=progress
        )
    trainer.close()


def _resumed(kept: Path, job: WorkerJob, stem: Path) -> None:
    spec, trainer = set_up(job)
    (folder,) = kept.iterdir()
    found = checkpoint.read(folder, trial_id=trial_id(job.trial), packages=_find_packages(job))
    _train(trainer, spec, job, first=found.progress.step, last=job.trial.steps, found=found)
    np.savez(stem.with_suffix(".npz"), **trainer.checkpoint())
    trainer.close()


def _find_packages(job: WorkerJob) -> dict[str, str]:
    return framework_versions(trainer_info(job.trial.trainer).packages)


def _train(
    trainer: Trainer,
    spec: WorkloadSpec,
    job: WorkerJob,
    *,
    first: int,
    last: int,
    found: checkpoint.Checkpoint | None = None,
) -> str:
    """Take steps `first` to before `last`, from a checkpoint if there is one: the name of the last phase."""
    start, current = 0, ""
    for phase, end in zip(spec.phases, accumulate(phase_steps(spec.phases, job.trial.steps)), strict=True):
        if start < last and first < end:
            current = phase.name
            trainer.begin(phase)
            if found is not None and found.progress.phase == current:
                trainer.restore(found.arrays)
            for index in range(max(first, start), min(last, end)):
                trainer.step(index)
                trainer.synchronize()
        start = end
    return current


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
