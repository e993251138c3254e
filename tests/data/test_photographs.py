"""Photographs as a network sees them: cut out, resized, augmented; the same wherever they are made."""

from pathlib import Path

import numpy as np
import pytest
from photo_files import aptos_folder, photograph
from PIL import Image

from workloads.data.augment import augmented
from workloads.data.fundus_image import disc_mask, read_disc
from workloads.data.photographs import PhotographSplit


def saved(image: np.ndarray, path: Path) -> Path:
    Image.fromarray(image).save(path)
    return path


def split_of(folder: Path, *, seed: int | None) -> PhotographSplit:
    files = tuple(folder / "train_images" / f"eye{number}.png" for number in range(6))
    return PhotographSplit(
        files=files, labels=np.arange(6, dtype=np.int32), image_size=16, augmentation_seed=seed
    )


def test_the_eye_is_cut_out_of_the_black_and_fills_the_square(tmp_path: Path) -> None:
    disc = read_disc(saved(photograph(0), tmp_path / "eye.png"), 20)
    assert disc.shape == (20, 20, 3)
    assert (disc[10, 10] == (100, 60, 40)).all()
    assert (disc[1, 10] == (120, 80, 60)).all()
    assert (disc[10, 0] > 0).any()
    assert (disc[10, 19] > 0).any()
    assert (disc[~disc_mask(20)] == 0).all()


def test_an_eye_that_was_cut_off_above_and_below_is_filled_up_with_black(tmp_path: Path) -> None:
    disc = read_disc(saved(photograph(0)[10:30], tmp_path / "eye.png"), 40)
    assert (disc[5] == 0).all()
    assert (disc[20, 20] > 0).all()


def test_a_black_photograph_is_black(tmp_path: Path) -> None:
    assert (read_disc(saved(np.zeros((9, 12, 3), dtype=np.uint8), tmp_path / "eye.png"), 6) == 0).all()


def test_the_mask_is_the_circle_in_the_square() -> None:
    assert disc_mask(4).astype(int).tolist() == [[0, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]]


@pytest.mark.parametrize("content", [b"no image", b"\x89PNG\r\n\x1a\n broken"])
def test_a_file_that_is_no_image_is_shown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "eye.png").write_bytes(content)
    with pytest.raises(ValueError, match=r"^image '.*/eye\.png' cannot be decoded: [^\n]+$"):
        read_disc(tmp_path / "eye.png", 4)


def test_a_truncated_image_is_shown(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    path = saved(noise, tmp_path / "eye.jpeg")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"eye\.jpeg' cannot be decoded: .*truncated"):
        read_disc(path, 4)


def test_augmentation_follows_from_seed_epoch_and_sample_alone(tmp_path: Path) -> None:
    folder = aptos_folder(tmp_path, count=6)
    all_at_once = split_of(folder, seed=3).take(np.arange(6), epoch=2)["x"]
    for index in (5, 0):
        alone = split_of(folder, seed=3).take(np.array([index]), epoch=2)["x"][0]
        assert np.array_equal(alone, all_at_once[index])
    for other in (
        split_of(folder, seed=4).take(np.arange(6), epoch=2),
        split_of(folder, seed=3).take(np.arange(6), epoch=1),
    ):
        assert not any(np.array_equal(*pair) for pair in zip(other["x"], all_at_once, strict=True))


def test_photographs_without_augmentation_are_the_same_in_every_epoch(tmp_path: Path) -> None:
    split = split_of(aptos_folder(tmp_path, count=6), seed=None)
    first, later = (split.take(np.arange(6), epoch=epoch) for epoch in (0, 7))
    assert np.array_equal(first["x"], later["x"])
    assert (first["x"].dtype, first["x"].shape, first["y"].tolist()) == (
        np.float32,
        (6, 16, 16, 3),
        [0, 1, 2, 3, 4, 5],
    )
    assert 0 <= first["x"].min() < first["x"].max() <= 1


def test_augmented_photographs_stay_in_range_and_black_outside_the_eye(tmp_path: Path) -> None:
    x = split_of(aptos_folder(tmp_path, count=6), seed=0).take(np.arange(6), epoch=0)["x"]
    assert (x.min(), x.dtype) == (0, np.float32)
    assert x.max() <= 1
    assert (x[:, ~disc_mask(16)] == 0).all()


def test_flips_turn_about_half_of_the_photographs_each_way() -> None:
    corner = np.zeros((4, 4, 3), dtype=np.float32)
    corner[0, 0] = 1
    changed = [augmented(corner, (0, seed)).sum(axis=2) for seed in range(200)]
    places = [divmod(int(item.argmax()), 4) for item in changed]
    for corner_place in ((0, 0), (0, 3), (3, 0), (3, 3)):
        assert 30 < places.count(corner_place) < 70


def test_brightness_contrast_and_saturation_all_change() -> None:
    random = np.random.default_rng(0)
    pixels = random.uniform(0.4, 0.6, (8, 8, 3)).astype(np.float32)
    changed = np.stack([augmented(pixels, (1, seed)) for seed in range(50)])
    brightness = changed.mean(axis=(1, 2, 3)) - pixels.mean()
    assert (brightness.min() < -0.08, brightness.max() > 0.08) == (True, True)
    contrast = changed.mean(axis=3).std(axis=(1, 2)) / pixels.mean(axis=2).std()
    assert (contrast.min() < 0.7, contrast.max() > 1.3) == (True, True)
    saturation = changed.std(axis=3).mean(axis=(1, 2)) / pixels.std(axis=2).mean() / contrast
    assert (saturation.min() < 0.7, saturation.max() > 1.3) == (True, True)


def test_an_image_that_would_start_a_program_is_not_opened(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "eye.png", format="EPS")
    with pytest.raises(
        ValueError, match=r"^image '.*eye\.png' cannot be decoded: cannot identify image file"
    ):
        read_disc(tmp_path / "eye.png", 8)


def test_a_strip_of_pixels_with_a_square_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    Image.new("L", (60_000, 1)).save(tmp_path / "eye.png")
    with pytest.raises(ValueError, match=r"has \(60000, 1\) pixels; a side has at most 10000$"):
        read_disc(tmp_path / "eye.png", 8)
