"""State of several optimizers in a checkpoint, and batches that are put on a device."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from orchestrator.train.trainers.native.torch_job import copy_arrays, put_back
from workloads.jobs import TorchJob
from workloads.native.torch_step import moved

META = torch.device("meta")


def trained(num_steps: int, *, is_list: bool = True) -> TorchJob:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizers = [torch.optim.AdamW(part.parameters(), lr=0.1) for part in model]
    schedulers = [torch.optim.lr_scheduler.StepLR(one, 1, gamma=0.5) for one in optimizers]
    job = TorchJob(
        model=model,
        loss=lambda model, batch: model(batch).mean(),
        optimizer=optimizers if is_list else optimizers[0],
        data=[],
        scheduler=tuple(schedulers) if is_list else schedulers[0],
    )
    for _ in range(num_steps):
        job.loss(model, torch.ones(2, 4)).backward()
        for part in (*job.optimizers, *job.schedulers):
            part.step()
    return job


@pytest.mark.parametrize("is_list", [True, False])
def test_a_checkpoint_restores_every_optimizer_and_scheduler(is_list: bool) -> None:
    kept = copy_arrays(trained(3, is_list=is_list), {"draws": 1})
    job = trained(0, is_list=is_list)
    assert put_back(kept, job) == {"draws": 1}
    assert [one.param_groups[0]["lr"] for one in job.optimizers] == [0.1 / 8] * len(job.optimizers)
    assert all(slots["step"] == 3 for one in job.optimizers for slots in one.state.values())
    assert [one.last_epoch for one in job.schedulers] == [3] * len(job.schedulers)


@dataclass(frozen=True)
class Pair:
    x: Tensor
    names: list[str]


class Graph:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def to(self, device: torch.device) -> "Graph":
        return Graph(self.x.to(device))


def test_tensors_of_dataclasses_and_objects_that_move_themselves_are_put_on_the_device() -> None:
    batch = {"pair": Pair(torch.ones(2), ["a"]), "graphs": (Graph(torch.ones(3)), "text")}
    there = moved(batch, lambda tensor: tensor.to(META), device=META)
    assert isinstance(there["pair"], Pair)
    assert (there["pair"].x.device, there["pair"].names) == (META, ["a"])
    graph, text = there["graphs"]
    assert (graph.x.device, text) == (META, "text")
    assert batch["pair"].x.device == torch.device("cpu")  # type: ignore[attr-defined]  # the batch stays
