"""Which samples a rank gets: those of one worker, whatever the number of workers and loader processes."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset

from workloads.jobs import JobError, TorchJob
from workloads.native.torch_data import TorchBatches

SAMPLES, BATCH = 50, 8

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more processes than cores


class Numbers(Dataset[int]):
    """The numbers below SAMPLES."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> int:
        return index


class Stream(IterableDataset[int]):
    """The same numbers as a stream."""

    def __iter__(self) -> Iterator[int]:
        yield from range(SAMPLES)


def job(data: Any, **changes: Any) -> TorchJob:
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return replace(TorchJob(model=model, loss=nn.MSELoss(), optimizer=optimizer, data=data), **changes)


def batches(
    made: TorchJob, *, rank: int = 0, world_size: int = 1, first: int = 0, last: int = 11, seed: int = 3
) -> list[list[int]]:
    """All samples that a rank gets in steps `first` to `last`."""
    source = TorchBatches(lambda: made, global_batch_size=BATCH, seed=seed)
    source.load()
    source.start(rank=rank, world_size=world_size, first=first, last=last)
    taken = [[int(value) for part in source.take() for value in part] for _ in range(first, last + 1)]
    source.close()
    return taken


KINDS = {"dataset": Numbers, "stream": Stream}
CASES = [(kind, workers, parts) for kind in KINDS for workers in (0, 2) for parts in (1, 2)]


@pytest.mark.parametrize(("kind", "workers", "parts"), CASES)
def test_two_ranks_get_together_what_one_gets(kind: str, workers: int, parts: int) -> None:
    made = job(KINDS[kind](), loader_workers=workers, accumulation_steps=parts)
    alone = batches(made)
    ranks = [batches(made, rank=rank, world_size=2) for rank in range(2)]
    assert [left + right for left, right in zip(*ranks, strict=True)] == alone


@pytest.mark.parametrize(("kind", "workers", "parts"), CASES)
def test_a_training_that_goes_on_gets_what_it_would_have_got(kind: str, workers: int, parts: int) -> None:
    made = job(KINDS[kind](), loader_workers=workers, accumulation_steps=parts)
    assert batches(made, first=5) == batches(made)[5:]


def test_a_pass_takes_every_sample_once_but_for_the_rest_of_the_division() -> None:
    taken = [value for batch in batches(job(Numbers()), last=5) for value in batch]
    assert len(set(taken)) == len(taken) == 6 * BATCH


def test_every_pass_and_seed_has_an_order_of_its_own() -> None:
    first = batches(job(Numbers()))
    assert first[:6] != first[6:]
    assert first != batches(job(Numbers()), seed=4)
    assert first == batches(job(Numbers()))


def test_a_stream_keeps_its_order_and_begins_anew() -> None:
    taken = [value for batch in batches(job(Stream())) for value in batch]
    assert taken == [index % SAMPLES for index in range(12 * BATCH)]


def test_samples_are_collated_by_the_jobs_function() -> None:
    made = job(Numbers(), collate=lambda samples: np.array(samples) + 1000)
    assert all(value >= 1000 for batch in batches(made) for value in batch)


def test_a_seed_gives_equal_weights() -> None:
    def weights(seed: int) -> list[float]:
        source = TorchBatches(lambda: job(Numbers()), global_batch_size=BATCH, seed=seed)
        values: list[float] = source.load().model.weight.detach().flatten().tolist()
        return values

    assert weights(1) == weights(1) != weights(2)


def test_a_batch_above_the_data_set_is_refused() -> None:
    source = TorchBatches(lambda: job(Numbers()), global_batch_size=SAMPLES + 1, seed=0)
    with pytest.raises(JobError, match="global_batch_size=51 is above the 50 training samples"):
        source.load()


def test_the_time_that_steps_wait_is_counted() -> None:
    source = TorchBatches(lambda: job(Numbers()), global_batch_size=BATCH, seed=0)
    source.load()
    source.start(rank=0, world_size=1, first=0, last=1)
    assert source.wait_seconds == 0
    source.take()
    assert source.wait_seconds > 0


class Slow(Numbers):
    """The same numbers, 5 ms each."""

    def __getitem__(self, index: int) -> int:
        time.sleep(0.005)
        return index


@pytest.mark.parametrize("world_size", [1, 2])
def test_the_rate_of_a_loader_is_measured_after_a_training(world_size: int) -> None:
    source = TorchBatches(lambda: job(Slow()), global_batch_size=BATCH, seed=3)
    source.load()
    source.start(rank=0, world_size=world_size, first=0, last=1)
    source.take()
    rate = source.measure_rate()
    assert rate is not None
    assert 20 < rate <= 200, "200 samples a second at most"


def test_data_that_fail_have_no_rate() -> None:
    source = TorchBatches(lambda: job(Broken()), global_batch_size=BATCH, seed=3)
    source.load()
    source.start(rank=0, world_size=1, first=0, last=1)
    assert source.measure_rate() is None


class Broken(Numbers):
    """Numbers of which none can be read."""

    def __getitem__(self, index: int) -> int:
        raise OSError(f"sample {index} is gone")
