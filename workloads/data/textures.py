"""Coloured textures drawn by a program: stripes, checks and blobs, one kind and one tint for each class."""

import numpy as np
import numpy.typing as npt

from workloads.data.dataset import Arrays

_SIDE = 32
_CLASSES = 10
_TRAIN, _TEST = 2_000, 500
_NOISE = 24.0
"""Standard deviation in grey levels."""


def draw() -> Arrays:
    """Draw 2,500 images whose class is told by tint, direction and width of their waves; always the same."""
    random = np.random.default_rng(3)
    labels = random.integers(0, _CLASSES, _TRAIN + _TEST, dtype=np.uint8)
    images = np.stack([_image(int(label), random) for label in labels])
    return {
        "x_train": images[:_TRAIN],
        "y_train": labels[:_TRAIN],
        "x_test": images[_TRAIN:],
        "y_test": labels[_TRAIN:],
    }


def _image(label: int, random: np.random.Generator) -> npt.NDArray[np.uint8]:
    waves = _waves(label, random)[..., np.newaxis] * random.uniform(20, 60)
    tint = 128 + random.uniform(10, 50) * _tint(label)
    noise = random.normal(0, _NOISE, (_SIDE, _SIDE, 3))
    return np.clip(tint + waves + noise, 0, 255).astype(np.uint8)


def _waves(label: int, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """[row, column] in -1..1: stripes for even classes, checks for odd ones, in nearly one direction each."""
    angle = np.pi * label / _CLASSES + random.normal(0, 0.1)
    length = (4 + label % 3 * 3) * random.uniform(0.9, 1.1)
    rows, columns = np.indices((_SIDE, _SIDE)) * (2 * np.pi / length)
    along = rows * np.sin(angle) + columns * np.cos(angle)
    across = columns * np.sin(angle) - rows * np.cos(angle)
    stripes: npt.NDArray[np.float64] = np.sin(along + random.uniform(0, 2 * np.pi))
    return stripes * np.sin(across) if label % 2 else stripes


def _tint(label: int) -> npt.NDArray[np.float64]:
    """[red, green, blue] in -1..1, around the colour circle."""
    turn = 2 * np.pi * (label / _CLASSES + np.arange(3) / 3)
    tint: npt.NDArray[np.float64] = np.cos(turn)
    return tint
