"""The host memory that processes need to start a training, with whole and with sharded weights.

As a script: `python shard_memory_runs.py FOLDER` forks the ranks of every case. It needs no test package.
"""

import json
import sys
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from multi_rank_cases import Finding, collect_findings, is_done
from native_runs import COST
from sharded_runs import CONFIG, FULL, NONE
from trainer_runs import BATCH, STEPS, group_jobs

from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, WorkerJob
from workloads.data import batches as declared_batches
from workloads.data.sources import resolve
from workloads.native.batches import job_batches
from workloads.registry import find_origin, workload
from workloads.spec import NativeSpec

SIZES: dict[str, Any] = {
    "vocab_size": 16_000,
    "hidden_size": 768,
    "intermediate_size": 2_048,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
}
"""Of a stored model with 110 million weights."""

GPT2 = {"size": "small", "sequence_length": 12}
"""124 million weights."""

CASES = {
    f"{task}, {name}": (task, settings)
    for task in ("gpt2", "causal_lm")
    for name, settings in (("none", NONE), ("full", FULL))
}


def outcomes() -> dict[str, list[Finding]]:
    """Return each rank's memory by the name of the case: `grown` and that of all `weights`, in bytes."""
    return collect_findings(__file__)


def _main(folder: Path) -> int:
    for module in trainer_info("torch_ddp").preload:
        import_module(module)
    _store_model(folder)
    data_set = workload("gpt2", GPT2).data.data_set
    data = resolve(data_set, "synthetic", cache=folder, download=False).path
    for name, (task, settings) in CASES.items():
        options = GPT2 if task == "gpt2" else {"model": str(folder), "sequence_length": 12}
        jobs = group_jobs("torch_ddp", task, ("fp32", 2, 2), data=data, workload_options=options)
        jobs = [replace(job, trial=replace(job.trial, memory_settings=settings)) for job in jobs]
        if task == "causal_lm":
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
            jobs = [replace(job, origin=find_origin(task), native=native) for job in jobs]
        if not is_done(folder, name, jobs, partial(_measure, task)):
            return 1
    return 0


def _store_model(folder: Path) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    (folder / "config.json").write_text(json.dumps(CONFIG | SIZES))
    AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(folder)


def _measure(task: str, job: WorkerJob) -> Finding:
    trainer, spec, data = _prepare(task, job)
    before = _read_memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forgets the most so far
    trainer.setup(spec, job, data)
    grown = _read_memory("VmHWM") - before
    weights = sum(array.nbytes for array in trainer.state().values())
    trainer.close()
    return {"grown": grown, "weights": weights}


def _prepare(task: str, job: WorkerJob) -> tuple[Trainer, Any, Any]:
    trainer = load_trainer(trainer_info("torch_ddp"), native=job.native is not None, shards=job.shards > 1)
    options = job.trial.workload_options
    spec: Any = job.native
    data: Any
    if job.native is None:
        spec = workload(task, options)
        data = declared_batches.load(
            Path(job.data_path), data=spec.data, global_batch_size=BATCH, seed=0, noise=spec.noise
        )
    else:
        assert job.origin is not None
        data = job_batches(
            "torch", job.origin, options, global_batch_size=BATCH, seed=0, pins=False, passes=job.passes
        )
    data.start(rank=job.rank, world_size=job.world_size, first=0, last=STEPS - 1)
    return trainer, spec, data


def _read_memory(key: str) -> int:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key)]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
