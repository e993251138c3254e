"""What is found about a PyTorch job, and the one line of a job that cannot be trained."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from own_jobs import torch_job
from user_workload import searched

from workloads.jobs import JobError
from workloads.native.code import compute_version
from workloads.native.data_hash import digest_of_array, positions_in
from workloads.native.description import build_spec
from workloads.origins import Origin
from workloads.spec import NativeSpec


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a job; what is imported from there is forgotten."""
    with searched(tmp_path):
        yield tmp_path / "described"


def describe(folder: Path, **parts: str) -> NativeSpec:
    torch_job(folder, **parts)
    return build_spec("described", Origin(package="described", folder=str(folder)), {})


def test_samples_cost_and_identity_are_found(folder: Path) -> None:
    spec = describe(folder)
    assert (spec.name, spec.train_samples, spec.quality) == ("described", 100, None)
    assert spec.data.startswith("own:described:")
    assert spec.cost.num_weights == 4 * 8 + 8 + 8 * 2 + 2
    assert spec.cost.flops_per_sample == 2 * (2 * 4 * 8) + 3 * (2 * 8 * 2)


def find_data(folder: Path, data: str) -> str:
    """Return the id of a job's data, described in a process of its own."""
    folder.mkdir(parents=True)
    with searched(folder):
        torch_job(folder / "described", data=data)
        return build_spec("described", Origin(package="described", folder=str(folder / "described")), {}).data


ALL = "TensorDataset(inputs, torch.arange(100) % 2)"
ONE_BY_ONE = "[(torch.ones(4), int({number} == index)) for index in range(100)]"


def test_one_other_label_in_the_middle_of_tensors_is_other_data(tmp_path: Path) -> None:
    other = "TensorDataset(inputs, (torch.arange(100) % 2).index_fill(0, torch.tensor([57]), 7))"
    ids = [find_data(tmp_path / name, data) for name, data in (("a", ALL), ("b", ALL), ("c", other))]
    assert ids[0] == ids[1] != ids[2]


def test_another_last_sample_of_a_data_set_that_is_read_one_by_one_is_other_data(tmp_path: Path) -> None:
    first, other = (find_data(tmp_path / str(n), ONE_BY_ONE.format(number=n)) for n in (0, 99))
    assert first != other


@pytest.mark.parametrize(("count", "most"), [(0, 4), (3, 4), (4, 4), (5, 4), (1000, 32)])
def test_positions_are_spread_from_the_first_to_the_last(count: int, most: int) -> None:
    positions = list(positions_in(count, most))
    assert len(positions) == min(count, most) == len(set(positions))
    assert positions[:1] + positions[-1:] == ([0, count - 1] if count else [])


def test_an_array_of_strings_has_one_hash_at_any_addresses() -> None:
    texts = ["".join(["a", letter]) for letter in "bc"]
    again = ["".join(["a", letter]) for letter in "bc"]
    hashes = {digest_of_array(np.array(one, dtype=object)) for one in (texts, again)}
    assert len(hashes) == 1


def test_the_version_is_that_of_the_code_and_not_of_its_comments(folder: Path) -> None:
    origin = Origin(package="described", folder=str(folder))
    job = torch_job(folder) / "torch_job.py"
    first, code = compute_version(origin), job.read_text()
    job.write_text(f"# a comment\n\n{code}")
    assert compute_version(origin) == first
    job.write_text(code.replace("lr=0.1", "lr=0.2"))
    assert compute_version(origin) != first
    assert compute_version(origin) < 2**53  # any reader of JSON keeps it


def test_what_may_differ_between_workers_is_named(folder: Path) -> None:
    model = "nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 2))"
    unchecked = " ".join(describe(folder, model=model).unchecked)
    assert "batch normalisation" in unchecked
    assert "dropout" in unchecked
    assert "order of the samples" not in unchecked


REFUSED = {
    "the loss has the shape (2,), expected one value": {"loss": "nn.CrossEntropyLoss(reduction='none')"},
    "the data set is empty": {"data": "TensorDataset(inputs[:0])"},
    "data is a DataLoader, expected a torch.utils.data.Dataset": {
        "data": "torch.utils.data.DataLoader(TensorDataset(inputs))"
    },
    "the model has no parameters to train": {
        "model": "nn.ReLU()",
        "optimizer": "torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)",
    },
    "model is a function, expected a torch.nn.Module": {
        "model": "lambda inputs: inputs",
        "optimizer": "None",
    },
    "optimizer is a NoneType, expected a torch.optim.Optimizer": {"optimizer": "None"},
    "the optimizer has no parameter of the model": {
        "optimizer": "torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)"
    },
    "loss is a int, expected a function": {"loss": "3"},
    "accumulation_steps=0 must be at least 1": {"more": ", accumulation_steps=0"},
    "clip_norm=-1 must be above 0, or None": {"more": ", clip_norm=-1"},
    "target=0.5 needs evaluate, which measures accuracy": {"more": ", target=0.5"},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_job_that_cannot_be_trained_is_refused(reason: str, folder: Path) -> None:
    with pytest.raises(JobError) as refused:
        describe(folder, **REFUSED[reason])
    assert reason in str(refused.value)


def test_a_module_without_build_is_refused(folder: Path) -> None:
    folder.mkdir()
    (folder / "torch_job.py").write_text("x = 1")
    with pytest.raises(ValueError, match=r"has no build; expected build\(options\) -> TorchJob"):
        build_spec("described", Origin(package="described", folder=str(folder)), {})


def test_a_build_that_returns_something_else_is_refused(folder: Path) -> None:
    folder.mkdir()
    (folder / "torch_job.py").write_text("def build(options):\n    return 3")
    with pytest.raises(ValueError, match="build returned int, expected TorchJob"):
        build_spec("described", Origin(package="described", folder=str(folder)), {})


WEIGHT_BYTES = 1248.0  # SGD without momentum
TWO = "[torch.optim.SGD(model[0].parameters(), lr=0.1), torch.optim.AdamW(model[2].parameters(), lr=0.1)]"


def test_several_optimizers_are_taken_and_their_slots_are_counted(folder: Path) -> None:
    found = describe(folder, optimizer=TWO).cost
    slot_bytes = 2 * (8 * 2 + 2) * 4  # of AdamW, which has the last layer alone
    assert found.weight_bytes == WEIGHT_BYTES + 2 * slot_bytes
    assert found.num_weights == 4 * 8 + 8 + 8 * 2 + 2


def test_one_optimizer_without_slots_moves_weights_and_gradients_alone(folder: Path) -> None:
    assert describe(folder).cost.weight_bytes == WEIGHT_BYTES


@pytest.mark.parametrize(
    ("optimizer", "reason"),
    [
        ("[]", "optimizer is an empty list, expected at least one torch.optim.Optimizer"),
        ("[torch.optim.SGD(model.parameters(), lr=0.1), 3]", "optimizer is a int, expected a torch.optim"),
        ("torch.optim.LBFGS(model.parameters())", "optimizer is a LBFGS, whose step() needs a closure"),
    ],
)
def test_optimizers_that_cannot_take_a_step_are_refused(folder: Path, optimizer: str, reason: str) -> None:
    with pytest.raises(JobError) as refused:
        describe(folder, optimizer=optimizer)
    assert str(refused.value).startswith(reason)


SCHEDULED = """)
def build(options, old=build):
    from dataclasses import replace
    job = old(options)
    return replace(job, scheduler={scheduler}"""


@pytest.mark.parametrize(
    ("scheduler", "most_steps"),
    [
        ("torch.optim.lr_scheduler.OneCycleLR(job.optimizer, 0.1, total_steps=30)", 30),
        ("torch.optim.lr_scheduler.LambdaLR(job.optimizer, lambda step: [1.0, 0.5, 0.1][step])", 2),
        ("torch.optim.lr_scheduler.StepLR(job.optimizer, 10)", None),
        ("None", None),
    ],
)
def test_a_scheduler_is_tried_for_the_steps_that_it_allows(
    folder: Path, scheduler: str, most_steps: int | None
) -> None:
    assert describe(folder, more=SCHEDULED.format(scheduler=scheduler)).most_steps == most_steps


GRAPHS = """)
class Graphs:
    def __init__(self, samples):
        self.x = torch.stack([sample[0] for sample in samples])
        self.y = torch.stack([sample[1] for sample in samples])
{to}

def build(options, old=build):
    from dataclasses import replace
    loss = lambda model, batch: nn.functional.cross_entropy(model(batch.x), batch.y)
    return replace(old(options), collate=Graphs, loss=loss"""


def test_a_batch_of_a_class_without_a_way_to_a_device_is_refused(folder: Path) -> None:
    with pytest.raises(JobError, match=r"^collate gives a Graphs with tensors and without a method `to`"):
        describe(folder, more=GRAPHS.format(to=""))


def test_a_batch_that_moves_itself_is_counted_as_a_tuple_is(folder: Path) -> None:
    to = "    def to(self, device):\n        return self\n"
    assert describe(folder, more=GRAPHS.format(to=to)).cost.flops_per_sample == 224


def test_a_batch_that_is_a_dataclass_is_counted_as_a_tuple_is(folder: Path) -> None:
    more = """)
import dataclasses

@dataclasses.dataclass(frozen=True)
class Pair:
    x: torch.Tensor
    y: torch.Tensor

def collate(samples):
    return Pair(torch.stack([one[0] for one in samples]), torch.stack([one[1] for one in samples]))

def build(options, old=build):
    loss = lambda model, batch: nn.functional.cross_entropy(model(batch.x), batch.y)
    return dataclasses.replace(old(options), collate=collate, loss=loss"""
    found = describe(folder, more=more).cost
    assert (found.flops_per_sample, found.flops_per_step) == (224, 0)
