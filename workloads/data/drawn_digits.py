"""Digits drawn by a program: learnable, always at hand, and no substitute for handwriting."""

import numpy as np
import numpy.typing as npt

from workloads.data.dataset import Arrays

_TRAIN, _TEST = 4_000, 1_000
_PIXELS_PER_DOT = 4
_FONT = (  # five rows of three dots for each digit
    "111101101101111",
    "010110010010111",
    "111001111100111",
    "111001111001111",
    "101101111001001",
    "111100111001111",
    "111100111101111",
    "111001010010010",
    "111101111101111",
    "111101111001111",
)


def draw() -> Arrays:
    """Draw 5,000 digits, each near the middle of its image, in some grey, under noise; always the same."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 10, _TRAIN + _TEST, dtype=np.uint8)
    glyphs = _glyphs()
    height, width = glyphs.shape[1:]
    images = random.integers(0, 64, (len(labels), 28, 28, 1), dtype=np.uint8)
    greys = random.integers(64, 192, len(labels), dtype=np.uint8)
    tops, lefts = random.integers(0, 9, len(labels)), random.integers(4, 13, len(labels))
    for image, label, grey, top, left in zip(images, labels, greys, tops, lefts, strict=True):
        image[top : top + height, left : left + width, 0] += grey * glyphs[label]
    return {
        "x_train": images[:_TRAIN],
        "y_train": labels[:_TRAIN],
        "x_test": images[_TRAIN:],
        "y_test": labels[_TRAIN:],
    }


def _glyphs() -> npt.NDArray[np.uint8]:
    """[digit, height, width], one where there is ink."""
    dots = np.array([[int(dot) for dot in digit] for digit in _FONT], dtype=np.uint8).reshape(10, 5, 3)
    return dots.repeat(_PIXELS_PER_DOT, axis=1).repeat(_PIXELS_PER_DOT, axis=2)
