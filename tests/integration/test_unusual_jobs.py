"""Native jobs of several networks and optimizers, and of batches that are objects, from the command line."""

import json
from pathlib import Path

import pytest
from cli_process import ask
from trainer_runs import python_of

GAN = """
import torch
from torch import nn
from torch.nn.functional import softplus
from torch.utils.data import Dataset
from workloads.jobs import TorchJob


class Points(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        return torch.randn(2, generator=torch.Generator().manual_seed(index)) + 3


class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))


def loss(gan, real):
    fake = gan.generator(torch.randn(len(real), 4, device=real.device))
    critic_loss = softplus(-gan.critic(real)).mean() + softplus(gan.critic(fake.detach())).mean()
    frozen = {name: weight.detach() for name, weight in gan.critic.named_parameters()}
    return critic_loss + softplus(-torch.func.functional_call(gan.critic, frozen, (fake,))).mean()


def build(options):
    gan = Gan()
    optimizers = %s(
        torch.optim.Adam(part.parameters(), lr=1e-3) for part in (gan.generator, gan.critic)
    )
    schedulers = %s(torch.optim.lr_scheduler.StepLR(one, 10) for one in optimizers)
    return TorchJob(model=gan, loss=loss, optimizer=optimizers, scheduler=schedulers, data=Points())
"""
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


@pytest.mark.parametrize(
    ("trainer", "kind"), [("torch_ddp", "list"), pytest.param("torch_xla", "tuple", marks=pytest.mark.more)]
)
def test_a_gan_trains_both_of_its_networks(trainer: str, kind: str, tmp_path: Path) -> None:
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    write(tmp_path, "gan", GAN % (kind, kind))
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
