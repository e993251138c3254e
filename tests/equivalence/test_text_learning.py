"""The text classifiers learn: they tell praise from blame in reviews that they have not read."""

from pathlib import Path

import pytest

from workloads.data import batches
from workloads.data.sources import resolve
from workloads.quality import classification
from workloads.registry import workload
from workloads.spec import WorkloadSpec

torch = pytest.importorskip("torch")

from workloads.with_torch.training import Losses, Networks, optimizer_of  # noqa: E402 (skipped above where it is missing)

BATCH = 64
STEPS = 100


def trained(spec: WorkloadSpec, data: batches.Batches) -> Networks:
    networks, (phase,) = Networks(spec, 0), spec.phases
    optimizer = optimizer_of(phase.optimizers["model"], networks.train_in(phase)["model"])
    losses = Losses(networks, phase)
    for index in range(STEPS):
        shard = data.shard(index % data.num_batches, rank=0, world_size=1)
        optimizer.zero_grad()
        batch = {"x": torch.from_numpy(shard["x"]), "y": torch.from_numpy(shard["y"]).long()}
        torch.autograd.backward(losses(batch)["model"])
        optimizer.step()
    return networks.eval()


@pytest.mark.parametrize("name", ["imdb_bilstm", "imdb_bigru"])
def test_100_steps_on_reviews_of_a_program_reach_an_accuracy_of_85_percent(name: str, tmp_path: Path) -> None:
    """One word in seven has an opinion and one of five of those is insincere: counting them gives 0.9."""
    torch.manual_seed(0)  # of dropout
    spec = workload(name, {"sequence_length": 60})
    source = resolve(spec.data.data_set, "synthetic", cache=tmp_path, download=False)
    data = batches.load(source.path, data=spec.data, global_batch_size=BATCH, seed=0)
    held_out = data.held_out(0, data.num_held_out)
    logits = trained(spec, data)["model"](torch.from_numpy(held_out["x"]))
    assert classification(logits.detach().numpy(), held_out)["accuracy"] > 0.85
