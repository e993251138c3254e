"""Native jobs of several networks and optimizers, and of batches that are objects, from the command line."""

import json
from pathlib import Path

import pytest
from cli_process import ask
from repository import ROOT
from trainer_runs import python_of

GRAPHS = """
import torch
from torch import nn
from torch.utils.data import TensorDataset
from workloads.jobs import TorchJob


class Graphs:
    def __init__(self, samples):
        self.x = torch.stack([sample[0] for sample in samples])

    def to(self, device):
        self.x = self.x.to(device)
        return self


def build(options):
    model = nn.Linear(4, 1)
    return TorchJob(
        model=model,
        loss=lambda model, batch: model(batch.x).square().mean(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data=TensorDataset(torch.rand(640, 4)),
        collate=Graphs,
    )
"""
WORDS = ("+sweep=single", "workload_path=jobs", "device=cpu", "steps=70", "executor=inline", "tracking=none")


def write(folder: Path, name: str, code: str) -> None:
    (folder / "jobs" / name).mkdir(parents=True)
    (folder / "jobs" / name / "torch_job.py").write_text(code)


@pytest.mark.slow_cases("torch_xla")
@pytest.mark.more
@pytest.mark.parametrize(("trainer", "kind"), [("torch_ddp", "list"), ("torch_xla", "tuple")])
def test_a_gan_trains_both_of_its_networks(trainer: str, kind: str, tmp_path: Path) -> None:
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    code = (ROOT / "docs/examples/jobs/points_gan/torch_job.py").read_text()
    for name in ("optimizer=optimizers", "scheduler=[StepLR(each, 10) for each in optimizers]"):
        assert name in code
        code = code.replace(name, name.replace("=", f"={kind}(", 1) + ")")
    write(tmp_path, "gan", code)
    words = ("workload=gan", f"trainer={trainer}", "global_batch_size=64")
    told = ask(*WORDS, *words, cwd=tmp_path, seconds=600)
    assert (told.code, told.err) == (0, ""), told.out
    [ledger] = tmp_path.glob("outputs/*/records.jsonl")
    [record] = [json.loads(line) for line in ledger.read_text().splitlines()]
    result = record["result"]
    assert (result["steps"], result["samples"], result["unmoved"]) == (70, 70 * 64, [])
    assert result["flops_per_step"] > 0


def test_batches_that_are_objects_are_left_out_under_torch_xla_by_plan(tmp_path: Path) -> None:
    write(tmp_path, "graphs", GRAPHS)
    told = ask("plan", *WORDS, "workload=graphs", "trainer=torch_ddp,torch_xla", cwd=tmp_path)
    assert told.code == 0, told.err
    shown = " ".join(told.out.split())
    assert "torch_xla splits the tensors of a batch" in shown
    assert "to run: 1 to measure" in shown
