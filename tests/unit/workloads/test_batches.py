"""Assignment of samples to batches: a function of seed and index, cut alike for any number of ranks."""

from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

from workloads.data import batches as module
from workloads.data.batches import Batches, load
from workloads.data.need import DataNeed, Noise

NUMBERS = DataNeed(data_set="tests:NUMBERS")
LATENT = Noise(name="latent", shape=(3,), kind="normal")
DRAWS = Noise(name="draws", shape=(2, 2), kind="uniform")


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """50 images that carry their own number, and 10 to test."""
    numbers = np.arange(60, dtype=np.uint8)
    images = np.broadcast_to(numbers[:, None, None, None], (60, 2, 2, 1))
    path = tmp_path / "numbers.npz"
    np.savez(path, x_train=images[:50], y_train=numbers[:50], x_test=images[50:], y_test=numbers[50:])
    return path


def together(batches: Batches, index: int, *, name: str = "y", world_size: int = 1) -> np.ndarray:
    shards = [batches.shard(index, rank=rank, world_size=world_size)[name] for rank in range(world_size)]
    return np.concatenate(shards)


@pytest.mark.parametrize("world_size", [2, 4, 8])
@pytest.mark.parametrize("name", ["x", "y", "latent", "draws"])
def test_the_shards_of_all_ranks_are_the_global_batch(prepared: Path, world_size: int, name: str) -> None:
    batches = load(prepared, data=NUMBERS, global_batch_size=16, seed=3, noise=(LATENT, DRAWS))
    for index in range(5):
        shards = together(batches, index, name=name, world_size=world_size)
        assert np.array_equal(shards, together(batches, index, name=name))


@pytest.mark.parametrize("sizes", [(1, 15), (5, 2, 9), (16,)])
def test_parts_of_any_size_are_the_global_batch_each_sample_once(
    prepared: Path, sizes: tuple[int, ...]
) -> None:
    batches = load(prepared, data=NUMBERS, global_batch_size=16, seed=3, noise=(LATENT,))
    ranges = [range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
    for index in range(5):
        for name in ("y", "latent"):
            parts = [batches.part(index, places)[name] for places in ranges]
            assert [len(part) for part in parts] == list(sizes)
            assert np.array_equal(np.concatenate(parts), together(batches, index, name=name))


def test_a_pass_visits_no_sample_twice_and_the_next_one_repeats_it(prepared: Path) -> None:
    batches = load(prepared, data=NUMBERS, global_batch_size=16, seed=0)
    assert batches.num_batches == 3
    one_pass = np.concatenate([together(batches, index) for index in range(3)])
    assert len(set(one_pass.tolist())) == 48
    assert together(batches, 3).tolist() == one_pass[:16].tolist()


def test_the_seed_alone_decides_the_order(prepared: Path) -> None:
    first, again, other = (
        load(prepared, data=NUMBERS, global_batch_size=50, seed=seed) for seed in (1, 1, 2)
    )
    assert together(first, 0).tolist() == together(again, 0).tolist()
    assert together(first, 0).tolist() != together(other, 0).tolist()


def test_images_are_float32_in_0_to_1_and_stay_with_their_labels(prepared: Path) -> None:
    batch = load(prepared, data=NUMBERS, global_batch_size=10, seed=0).shard(0, rank=0, world_size=1)
    images, labels = batch["x"], batch["y"]
    assert (images.shape, images.dtype, labels.dtype) == ((10, 2, 2, 1), np.float32, np.int32)
    assert np.allclose(images[:, 0, 0, 0] * 255, labels)


def test_held_out_samples_end_with_the_set_and_have_noise_of_their_own(prepared: Path) -> None:
    batches = load(prepared, data=NUMBERS, global_batch_size=16, seed=0, noise=(LATENT,))
    assert batches.num_held_out == 10
    assert batches.held_out(0, 4)["y"].tolist() == [50, 51, 52, 53]
    assert {name: array.shape for name, array in batches.held_out(8, 12).items()} == {
        "x": (2, 2, 2, 1),
        "y": (2,),
        "latent": (2, 3),
    }
    seen = together(replace(batches, order=np.arange(50)), 0, name="latent")
    assert not np.isin(batches.held_out(0, 10)["latent"], seen).any()


def test_noise_depends_on_the_sample_and_the_seed_and_not_on_the_batch(prepared: Path) -> None:
    small, large = (
        load(prepared, data=NUMBERS, global_batch_size=size, seed=4, noise=(LATENT,)) for size in (10, 50)
    )
    in_small = np.concatenate([together(small, index, name="latent") for index in range(5)])
    assert np.array_equal(in_small, together(large, 0, name="latent"))
    other = load(prepared, data=NUMBERS, global_batch_size=50, seed=5, noise=(LATENT,))
    assert not np.array_equal(np.sort(in_small, axis=0), np.sort(together(other, 0, name="latent"), axis=0))


def test_noise_is_normal_or_uniform_as_asked(prepared: Path) -> None:
    wide = Noise(name="latent", shape=(4000,), kind="normal")
    flat = Noise(name="draws", shape=(4000,), kind="uniform")
    batch = load(prepared, data=NUMBERS, global_batch_size=2, seed=0, noise=(wide, flat)).shard(
        0, rank=0, world_size=1
    )
    assert (batch["latent"].dtype, batch["draws"].dtype) == (np.float32, np.float32)
    assert np.allclose([batch["latent"].mean(), batch["latent"].std()], [0, 1], atol=0.05)
    assert 0 <= batch["draws"].min() < 0.01 < 0.99 < batch["draws"].max() < 1


def test_a_staged_pass_is_cut_to_what_fits_and_has_at_least_one_batch(
    prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_bytes = 4 * (2 * 2 + 1 + 3)  # pixels, label, latent
    monkeypatch.setattr(module, "STAGED_BYTES", 40 * sample_bytes)
    cut = load(prepared, data=NUMBERS, global_batch_size=16, seed=0, noise=(LATENT,))
    assert (cut.num_batches, len(cut.order)) == (2, 40)
    assert together(cut, 2).tolist() == together(cut, 0).tolist()
    whole = load(prepared, data=NUMBERS, global_batch_size=50, seed=0, noise=(LATENT,))
    assert whole.num_batches == 1


def test_images_are_resized_by_their_nearest_pixels(prepared: Path, tmp_path: Path) -> None:
    images = np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1)
    path = tmp_path / "squares.npz"
    np.savez(path, x_train=images, y_train=[0], x_test=images, y_test=[0])

    def resized_to(size: int) -> np.ndarray:
        data = DataNeed(data_set="tests:SQUARES", image_size=size)
        pixels = load(path, data=data, global_batch_size=1, seed=0).held_out(0, 1)["x"] * 255
        return pixels[0, :, :, 0].round()

    assert resized_to(2).tolist() == [[5, 7], [13, 15]]
    assert resized_to(8)[:3].tolist() == [[0, 0, 1, 1, 2, 2, 3, 3]] * 2 + [[4, 4, 5, 5, 6, 6, 7, 7]]


def test_float32_samples_are_handed_out_as_they_are(tmp_path: Path) -> None:
    table = np.array([[-1.5, 2.0], [3.25, 4.0]], dtype=np.float32)
    path = tmp_path / "table.npz"
    np.savez(path, x_train=table, y_train=[0, 1], x_test=table, y_test=[0, 1])
    batches = load(path, data=NUMBERS, global_batch_size=2, seed=0)
    assert np.array_equal(batches.held_out(0, 2)["x"], table)


def test_a_batch_above_the_training_set_is_refused(prepared: Path) -> None:
    with pytest.raises(ValueError, match=r"^global_batch_size=51 is above the 50 training samples$"):
        load(prepared, data=NUMBERS, global_batch_size=51, seed=0)


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^sequence_length=0 of data set 'tests:TEXTS' must be at least 1$"):
        DataNeed(data_set="tests:TEXTS", sequence_length=0)
