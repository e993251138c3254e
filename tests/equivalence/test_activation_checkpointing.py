"""Blocks that the backward pass computes again train the weights of blocks that are kept."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from native_runs import COST
from trainer_runs import WORKLOADS, group_jobs, set_up

from orchestrator.core.trial_spec import MemorySettings, Recomputation
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, WorkerJob
from workloads.data.sources import resolve
from workloads.native.batches import job_batches
from workloads.origins import Origin
from workloads.registry import find_origin, workload
from workloads.spec import NativeSpec

BATCH, STEPS, LEFT_AFTER = 8, 5, 2
SETTINGS = [
    MemorySettings(activation_checkpointing="full"),
    MemorySettings(activation_checkpointing="selective", micro_batch_size=4),
]

LAYERS = """
import torch
from torch import nn
from workloads.jobs import TorchJob


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        return torch.randn(6, 16, generator=torch.Generator().manual_seed(index))


def build(options):
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True)
    model = nn.TransformerEncoder(layer, 3)
    return TorchJob(
        model=model,
        loss=lambda model, rows: (model(rows) - rows.roll(1, 1)).square().mean(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=0.01),
        data=Rows(),
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
    "attention_dropout": 0.1,
}

MakeTrainer = Callable[[WorkerJob, int], Trainer]
"""(job, first step) -> trainer that is ready for it."""


@pytest.fixture(autouse=True)
def _kept_threads() -> Iterator[None]:
    """Give the process back the threads that trainers set."""
    count = torch.get_num_threads()
    yield
    torch.set_num_threads(count)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: one.words)
@pytest.mark.parametrize("task", ["gpt2", "llama_style"])
def test_declared_blocks_are_trained_the_same_and_resumed(
    task: str, settings: MemorySettings, tmp_path: Path
) -> None:
    options = {**WORKLOADS[task], "dropout": 0.2}
    data = resolve(workload(task, options).data.data_set, "synthetic", cache=tmp_path, download=False).path
    [job] = group_jobs("torch_ddp", task, ("fp32", 1, 1), data=data, workload_options=options)

    def make(job: WorkerJob, _first: int) -> Trainer:
        spec, trainer = set_up(job)
        trainer.begin(spec.phases[0])
        return trainer

    _require_same_weights(job, settings, make)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: one.words)
@pytest.mark.parametrize("name", ["layers", "lora"])
def test_blocks_of_a_job_are_trained_the_same_and_resumed(
    name: str, settings: MemorySettings, tmp_path: Path
) -> None:
    origin, options = _write_job(name, tmp_path)
    [job] = group_jobs("torch_ddp", name, ("fp32", 1, 1), data=tmp_path, workload_options={"": 0})

    def make(job: WorkerJob, first: int) -> Trainer:
        trainer = load_trainer(trainer_info("torch_ddp"), native=True)
        batches = job_batches(
            "torch", origin, options, global_batch_size=BATCH, seed=0, pins=False, passes=job.passes
        )
        batches.start(rank=0, world_size=1, first=first, last=STEPS - 1)
        trainer.setup(_spec(name), job, batches)
        trainer.begin(_spec(name).phases[0])
        return trainer

    _require_same_weights(job, settings, make)


def _write_job(name: str, folder: Path) -> tuple[Origin, dict[str, Any]]:
    if name == "lora":
        pytest.importorskip("peft")
        (folder / "config.json").write_text(json.dumps(CONFIG))
        return find_origin("causal_lm"), {"model": str(folder), "method": "lora", "learning_rate": 0.01}
    package = folder / f"layered_{folder.name}"  # another folder of that name would be refused
    package.mkdir()
    (package / "torch_job.py").write_text(LAYERS)
    return Origin(package=package.name, folder=str(package)), {}


def _spec(name: str) -> NativeSpec:
    return NativeSpec(
        name=name,
        version=1,
        costs={"torch": COST},
        data=f"own:{name}:0",
        train_samples=None,
        quality=None,
        epochs=None,
        accumulation_steps=1,
        unchecked=(),
    )


def _require_same_weights(job: WorkerJob, settings: MemorySettings, make: MakeTrainer) -> None:
    """Compare with a training that keeps all, whole and left in the middle."""
    kept = _train(_with_mode(job, settings, "none"), make)
    again = _with_mode(job, settings, settings.activation_checkpointing)
    for state in (_train(again, make), _train_in_two(again, make)):
        assert state.keys() == kept.keys()
        for name, array in kept.items():
            apart = np.linalg.norm(state[name] - array) / np.linalg.norm(array)
            assert apart < 1e-6, name


def _with_mode(job: WorkerJob, settings: MemorySettings, mode: Recomputation) -> WorkerJob:
    changed = replace(settings, activation_checkpointing=mode)
    return replace(job, trial=replace(job.trial, memory_settings=changed, global_batch_size=BATCH))


def _train(job: WorkerJob, make: MakeTrainer) -> dict[str, Any]:
    trainer = make(job, 0)
    for index in range(STEPS):
        trainer.step(index)
    return dict(trainer.state())


def _train_in_two(job: WorkerJob, make: MakeTrainer) -> dict[str, Any]:
    first = make(job, 0)
    for index in range(LEFT_AFTER):
        first.step(index)
    arrays = dict(first.checkpoint())
    second = make(job, LEFT_AFTER)
    second.restore(arrays)
    for index in range(LEFT_AFTER, STEPS):
        second.step(index)
    return dict(second.state())
