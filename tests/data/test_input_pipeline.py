"""The input pipeline: batches made ahead by threads are those that would be made one by one."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

import numpy as np
import numpy.typing as npt
import pytest
from photo_files import aptos_folder

from workloads.data.batches import Batches, load
from workloads.data.fundus import FUNDUS
from workloads.data.need import DataNeed
from workloads.data.pipeline import PREFETCHED_BATCHES
from workloads.data.published import Means
from workloads.data.sources import prepare
from workloads.data.split import Batch


class Numbers:
    """Samples that are their own number and epoch; remembers which were asked for, and may wait or fail."""

    def __init__(self, before: Callable[[int], None] = lambda _: None) -> None:
        self.asked: list[int] = []
        self._before = before

    def __len__(self) -> int:
        return 40

    def take(self, indices: npt.NDArray[np.int64], *, epoch: int) -> Batch:
        for index in indices.tolist():
            self.asked.append(index)
            self._before(index)
        return {"x": np.stack([indices, np.full(len(indices), epoch)], axis=1), "y": indices.astype(np.int32)}


def batches(train: Numbers) -> Batches:
    """Five batches of eight in a pass, in the order of their numbers."""
    return Batches(train=train, test=Numbers(), order=np.arange(40), global_batch_size=8, staged=False)


def numbers_of(batch: Batch) -> list[int]:
    return batch["y"].tolist()


def test_batches_come_in_order_with_their_epoch() -> None:
    made = batches(Numbers())
    made.start(rank=0, world_size=1, first=3, last=6)
    found = [made.shard(index, rank=0, world_size=1) for index in range(3, 7)]
    made.close()
    assert [numbers_of(batch)[0] for batch in found] == [24, 32, 0, 8]
    assert [batch["x"][0, 1] for batch in found] == [0, 0, 1, 1]
    assert [len(batch["y"]) for batch in found] == [8] * 4


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_every_number_of_ranks_gets_the_same_samples(world_size: int) -> None:
    shards = []
    for rank in range(world_size):
        made = batches(Numbers())
        made.start(rank=rank, world_size=world_size, first=0, last=9)
        shards.append([made.shard(index, rank=rank, world_size=world_size)["x"] for index in range(10)])
        made.close()
    for index, parts in enumerate(zip(*shards, strict=True)):
        assert np.array_equal(
            np.concatenate(parts), batches(Numbers()).shard(index, rank=0, world_size=1)["x"]
        )


def test_replicas_of_one_process_share_what_was_started_for_all_of_them() -> None:
    train = Numbers()
    made = batches(train)
    made.start(rank=1, world_size=2, first=0, last=1)
    found = [numbers_of(made.shard(index, rank=rank, world_size=4)) for index in (0, 1) for rank in (2, 3)]
    made.close()
    assert found == [[4, 5], [6, 7], [12, 13], [14, 15]]
    assert sorted(train.asked) == [4, 5, 6, 7, 12, 13, 14, 15]


def test_no_more_than_a_few_batches_are_made_ahead() -> None:
    train = Numbers()
    made = batches(train)
    made.start(rank=0, world_size=1, first=0, last=99)
    made.shard(0, rank=0, world_size=1)
    made.close()
    assert len(train.asked) <= 8 * (1 + PREFETCHED_BATCHES)


def test_the_next_batch_is_made_before_it_is_asked_for() -> None:
    reached = Event()
    made = batches(Numbers(lambda index: reached.set() if index == 15 else None))
    made.start(rank=0, world_size=1, first=0, last=1)
    assert reached.wait(timeout=60)
    made.close()


def test_what_was_not_ordered_is_made_on_the_spot() -> None:
    made = batches(Numbers())
    assert numbers_of(made.shard(2, rank=0, world_size=1))[0] == 16
    made.start(rank=0, world_size=2, first=0, last=1)
    assert numbers_of(made.shard(0, rank=1, world_size=2)) == [4, 5, 6, 7]
    assert numbers_of(made.shard(4, rank=0, world_size=2)) == [32, 33, 34, 35]
    assert numbers_of(made.shard(1, rank=0, world_size=2)) == [8, 9, 10, 11]
    made.close()
    assert numbers_of(made.shard(1, rank=0, world_size=1))[0] == 8


def test_another_part_is_made_from_the_first_batch_that_was_not_taken() -> None:
    train = Numbers()
    made = batches(train)
    made.start(rank=0, world_size=2, first=1, last=4)  # of one epoch: no sample comes again
    assert numbers_of(made.shard(1, rank=0, world_size=2)) == [8, 9, 10, 11]
    made.restart(range(5, 8))
    assert [numbers_of(made.part(index, range(5, 8))) for index in (2, 3)] == [[21, 22, 23], [29, 30, 31]]
    made.close()
    made_anew = [item for item in train.asked if item % 8 > 4]
    assert {21, 22, 23, 29, 30, 31} <= set(made_anew)
    assert 13 not in made_anew


def test_restart_makes_no_batch_if_none_was_begun() -> None:
    train = Numbers()
    made = batches(train)
    made.restart(range(5, 8))
    assert train.asked == []
    assert numbers_of(made.part(2, range(5, 8))) == [21, 22, 23]


def test_held_out_samples_come_through_the_threads_alike() -> None:
    made = batches(Numbers())
    alone = made.held_out(3, 33)
    made.start(rank=0, world_size=1, first=0, last=1)
    assert np.array_equal(made.held_out(3, 33)["x"], alone["x"])
    assert len(made.held_out(40, 50)["y"]) == 0
    made.close()


def test_a_sample_that_cannot_be_read_is_an_error_of_its_batch_alone() -> None:
    def fail(index: int) -> None:
        if index == 9:
            raise ValueError("image 9 cannot be decoded")

    made = batches(Numbers(fail))
    made.start(rank=0, world_size=1, first=0, last=2)
    assert numbers_of(made.shard(0, rank=0, world_size=1))[0] == 0
    with pytest.raises(ValueError, match=r"^image 9 cannot be decoded$"):
        made.shard(1, rank=0, world_size=1)
    assert numbers_of(made.shard(2, rank=0, world_size=1))[0] == 16
    made.close()


def test_waiting_and_the_rate_of_the_pipeline_are_shown_and_staged_batches_have_neither() -> None:
    made = batches(Numbers())
    assert (made.wait_seconds, made.measure_rate()) == (0, None)
    made.start(rank=0, world_size=1, first=0, last=0)
    made.shard(0, rank=0, world_size=1)
    made.close()
    assert made.wait_seconds > 0
    rate = made.measure_rate()
    assert rate is not None
    assert rate > 0
    staged = Batches(train=Numbers(), test=Numbers(), order=np.arange(40), global_batch_size=8)
    staged.start(rank=0, world_size=1, first=0, last=9)
    assert staged.shard(7, rank=0, world_size=1)["x"][:, 1].tolist() == [0] * 8
    assert (staged.wait_seconds, staged.measure_rate()) == (0, None)


def test_photographs_are_not_staged_and_are_the_same_with_threads_and_without(tmp_path: Path) -> None:
    folder = aptos_folder(tmp_path / "folder", count=40)
    ref = prepare(FUNDUS, "real", Means(cache=tmp_path, download=False, folder=folder))
    data = DataNeed(data_set="tests:EYES", image_size=16)
    alone, ahead = (load(ref.path, data=data, global_batch_size=8, seed=5) for _ in range(2))
    last = 2 * ahead.num_batches
    ahead.start(rank=0, world_size=1, first=0, last=last)
    for index in range(last + 1):
        x, y = (ahead.shard(index, rank=0, world_size=1)[name] for name in "xy")
        expected = alone.shard(index, rank=0, world_size=1)
        assert np.array_equal(x, expected["x"])
        assert np.array_equal(y, expected["y"])
    ahead.close()
    assert not ahead.staged
    first, later = (alone.shard(index, rank=0, world_size=1) for index in (0, alone.num_batches))
    assert np.array_equal(first["y"], later["y"])
    assert not np.array_equal(first["x"], later["x"])
