"""Settings that save memory train the weights of a training without them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from memory_runs import CASES, outcomes
from native_runs import TORCH
from trainer_runs import BATCH, STEPS

from workloads.native.batches import job_batches
from workloads.origins import Origin

TOLERANCES = {"gpt2": 1e-3, "mnist_cnn": 1e-4, "mnist_dbn": 3e-3}  # as in test_trainers


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("alone")])
def test_every_setting_trains_the_weights_of_the_whole_batch(name: str) -> None:
    task, processes, settings = CASES[name]
    (alone,) = outcomes()[f"{task}, alone"]
    ranks = outcomes()[name]
    assert [rank["samples"] for rank in ranks] == [STEPS * BATCH // processes] * processes
    passes = BATCH // processes // settings.micro_batch_size
    for rank in ranks:
        assert rank["sizes"] == [settings.micro_batch_size] * STEPS * passes
        assert rank["exchanges"] == ([] if processes == 1 else ([False] * (passes - 1) + [True]) * STEPS)
        for ours, theirs in zip(rank["losses"], alone["losses"], strict=True):
            assert ours == pytest.approx(theirs, rel=TOLERANCES[task])
        for weight, array in alone["state"].items():
            apart = np.linalg.norm(np.subtract(rank["state"][weight], array)) / np.linalg.norm(array)
            assert apart < TOLERANCES[task], weight


def test_micro_batches_of_a_native_job_are_its_batch_in_parts(tmp_path: Path) -> None:
    package = tmp_path / "divided_points"
    package.mkdir()
    (package / "torch_job.py").write_text(TORCH.replace("accumulation_steps=2", "accumulation_steps=1"))
    origin = Origin(package="divided_points", folder=str(package))
    taken = []
    for passes in (1, 4):
        batches = job_batches("torch", origin, {}, global_batch_size=BATCH, seed=0, pins=False, passes=passes)
        batches.load()
        batches.start(rank=1, world_size=2, first=0, last=0)
        taken.append([part["point"] for part in batches.take()])
    assert [len(part) for part in taken[1]] == [BATCH // 8] * 4
    torch.testing.assert_close(torch.cat(taken[1]), taken[0][0])
