"""Which samples make up which batch: a function of seed and index, cut alike for any number of ranks."""

from pathlib import Path

import numpy as np
import pytest

from workloads.data.batches import Batches, load


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """50 images that carry their own number, and 10 to test."""
    numbers = np.arange(60, dtype=np.uint8)
    images = np.broadcast_to(numbers[:, None, None, None], (60, 2, 2, 1))
    path = tmp_path / "numbers.npz"
    np.savez(path, x_train=images[:50], y_train=numbers[:50], x_test=images[50:], y_test=numbers[50:])
    return path


def labels_of(batches: Batches, index: int, *, world_size: int) -> np.ndarray:
    shards = [batches.shard(index, rank=rank, world_size=world_size)[1] for rank in range(world_size)]
    return np.concatenate(shards)


@pytest.mark.parametrize("world_size", [1, 2, 4, 8])
def test_the_shards_of_all_ranks_are_the_global_batch(prepared: Path, world_size: int) -> None:
    batches = load(prepared, global_batch_size=16, seed=3)
    for index in range(5):
        together = labels_of(batches, index, world_size=world_size)
        assert together.tolist() == labels_of(batches, index, world_size=1).tolist()


def test_a_pass_visits_no_sample_twice_and_the_next_one_repeats_it(prepared: Path) -> None:
    batches = load(prepared, global_batch_size=16, seed=0)
    assert batches.num_batches == 3
    one_pass = np.concatenate([labels_of(batches, index, world_size=1) for index in range(3)])
    assert len(set(one_pass.tolist())) == 48
    assert labels_of(batches, 3, world_size=1).tolist() == one_pass[:16].tolist()


def test_the_seed_alone_decides_the_order(prepared: Path) -> None:
    first, again, other = (load(prepared, global_batch_size=50, seed=seed) for seed in (1, 1, 2))
    assert labels_of(first, 0, world_size=1).tolist() == labels_of(again, 0, world_size=1).tolist()
    assert labels_of(first, 0, world_size=1).tolist() != labels_of(other, 0, world_size=1).tolist()


def test_images_are_float32_in_0_to_1_and_stay_with_their_labels(prepared: Path) -> None:
    images, labels = load(prepared, global_batch_size=10, seed=0).shard(0, rank=0, world_size=1)
    assert (images.shape, images.dtype, labels.dtype) == ((10, 2, 2, 1), np.float32, np.int32)
    assert np.allclose(images[:, 0, 0, 0] * 255, labels)


def test_a_batch_above_the_training_set_is_refused(prepared: Path) -> None:
    with pytest.raises(ValueError, match=r"^global_batch_size=51 is above the 50 training samples$"):
        load(prepared, global_batch_size=51, seed=0)
