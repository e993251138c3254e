"""Coloured textures drawn by a program: two classes share each of five tints, one striped, one checked."""

import numpy as np
import numpy.typing as npt

from workloads.data.dataset import Arrays

_SIDE = 32
_CLASSES = 10
_TRAIN, _TEST = 2_000, 500
_NOISE = 24.0
"""Standard deviation in grey levels."""


def draw() -> Arrays:
    """Draw 2,500 images with a class that depends on tint and waves together; always the same."""
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
    waves = _waves(label, random)[..., np.newaxis] * random.uniform(30, 80)
    tint = 128 + random.uniform(30, 90) * _tint(label // 2)
    noise = random.normal(0, _NOISE, (_SIDE, _SIDE, 3))
    return np.clip(tint + waves + noise, 0, 255).astype(np.uint8)


def _waves(label: int, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """[row, column] in -1..1: more or less upright stripes for even classes, checks for odd ones."""
    angle, length = random.normal(0, 0.2), random.uniform(6, 10)
    rows, columns = np.indices((_SIDE, _SIDE)) * (2 * np.pi / length)
    along = rows * np.sin(angle) + columns * np.cos(angle)
    across = columns * np.sin(angle) - rows * np.cos(angle)
    stripes: npt.NDArray[np.float64] = np.sin(along + random.uniform(0, 2 * np.pi))
    return stripes * np.sin(across) if label % 2 else stripes


def _tint(hue: int) -> npt.NDArray[np.float64]:
    """[red, green, blue] in -1..1, around the colour circle."""
    turn = 2 * np.pi * (2 * hue / _CLASSES + np.arange(3) / 3)
    tint: npt.NDArray[np.float64] = np.cos(turn)
    return tint
