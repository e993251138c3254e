"""Native jobs keep the contract of trainers: N workers train what one does, and what a bare loop does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from native_runs import SHAPES, STEPS, TORCH, ends_of
from trainer_runs import BATCH, python_of

from workloads.jobs import TorchJob
from workloads.native.code import find_builder
from workloads.native.torch_data import TorchBatches
from workloads.origins import Origin

pytestmark = [pytest.mark.more_cases("tensorflow"), pytest.mark.slow_cases("torch_xla")]

CASES = [(trainer, run) for trainer, runs in SHAPES.items() for run in runs]
PARALLEL = [case for case in CASES if case[1].startswith("two")]


def ranks_of(trainer: str, run: str) -> list[dict[str, Any]]:
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    return ends_of(trainer)[run]


@pytest.mark.parametrize(("trainer", "run"), CASES)
def test_losses_fall_and_samples_and_devices_are_counted(trainer: str, run: str) -> None:
    ranks = ranks_of(trainer, run)
    precision, processes, replicas = SHAPES[trainer][run]
    for rank in ranks:
        assert np.isfinite(rank["losses"]).all()
        assert np.mean(rank["losses"][-3:]) < np.mean(rank["losses"][:3])
        assert rank["precision"] == precision
        assert rank["quality"] == {}
    assert sum(rank["samples"] for rank in ranks) == STEPS * BATCH
    assert sum(rank["devices"] for rank in ranks) == replicas
    assert len(ranks) == processes


@pytest.mark.parametrize(("trainer", "run"), PARALLEL)
def test_several_workers_train_what_one_does(trainer: str, run: str) -> None:
    (alone,) = ranks_of(trainer, "alone")
    for rank in ranks_of(trainer, run):
        np.testing.assert_allclose(rank["losses"], alone["losses"], rtol=1e-4)
        assert rank["whole"].keys() == alone["whole"].keys()
        for name, weight in alone["whole"].items():
            np.testing.assert_allclose(rank["whole"][name], weight, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(("trainer", "run"), CASES)
def test_steps_after_a_checkpoint_are_those_of_a_training_that_was_never_left(trainer: str, run: str) -> None:
    for rank in ranks_of(trainer, run):
        assert rank["whole"].keys() == rank["resumed"].keys()
        for name, weight in rank["whole"].items():
            np.testing.assert_array_equal(rank["resumed"][name], weight, err_msg=name)


@pytest.mark.parametrize(("trainer", "run"), CASES)
def test_no_step_but_the_first_ones_compiles(trainer: str, run: str) -> None:
    for rank in ranks_of(trainer, run):
        assert rank["counts"][3] == rank["counts"][-1]


@pytest.mark.slow
def test_torch_and_xla_train_the_same_from_one_seed() -> None:
    (ours,), (theirs,) = ranks_of("torch_ddp", "alone"), ranks_of("torch_xla", "alone")
    np.testing.assert_allclose(ours["losses"], theirs["losses"], rtol=1e-4)


def test_a_bare_loop_over_the_same_batches_trains_the_same_bit_for_bit(tmp_path: Path) -> None:
    (ours,) = ranks_of("torch_ddp", "alone")
    package = tmp_path / "bare_points"
    package.mkdir()
    (package / "torch_job.py").write_text(TORCH)
    origin = Origin(package="bare_points", folder=str(package))
    build = find_builder(origin, "torch", {}, job_class=TorchJob)
    batches = TorchBatches(build, global_batch_size=BATCH, seed=0)
    job = batches.load()
    batches.start(rank=0, world_size=1, first=0, last=STEPS - 1)
    torch.set_num_threads(1)
    losses = []
    for _ in range(STEPS):
        job.optimizer.zero_grad()
        parts = [job.loss(job.model, part) / job.accumulation_steps for part in batches.take()]
        for part in parts:
            part.backward()
        torch.nn.utils.clip_grad_norm_(job.model.parameters(), job.clip_norm)
        job.optimizer.step()
        job.scheduler.step()
        losses.append(sum(part.item() for part in parts))
    np.testing.assert_allclose(ours["losses"], losses, rtol=1e-6)
    for name, weight in job.model.named_parameters():
        np.testing.assert_array_equal(ours["whole"][f"model.{name}"], weight.detach().numpy(), err_msg=name)
