"""Grey glyphs drawn by a program: learnable, always at hand, and no substitute for real images."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workloads.data.dataset import Arrays

_SIDE = 28
_TRAIN, _TEST = 4_000, 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Font:
    """Ten glyphs, one for each class.

    Attributes:
        glyphs: rows of dots one after another, `1` where there is ink.
        dots_across: dots in a row.
        pixels_per_dot: side of a dot.
        seed: seed of places, greys and noise.
    """

    glyphs: tuple[str, ...]
    dots_across: int
    pixels_per_dot: int
    seed: int


DIGITS = Font(
    glyphs=(
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
    ),
    dots_across=3,
    pixels_per_dot=4,
    seed=1,
)

CLOTHES = Font(
    glyphs=(
        "1111111111011100111001110",  # T-shirt
        "0111001110010100101001010",  # trousers
        "1111111111111111111111111",  # pullover
        "0111000100011100111011111",  # dress
        "1101111011110111101111011",  # coat
        "0000000000000011010111111",  # sandal
        "1101111111011100101001110",  # shirt
        "0000000011001111111100000",  # sneaker
        "0111010001111111111111111",  # bag
        "0001100011000111111111111",  # ankle boot
    ),
    dots_across=5,
    pixels_per_dot=4,
    seed=2,
)


def draw(font: Font) -> Arrays:
    """Draw 5,000 glyphs, each near the middle of its image, in some grey, under noise; always the same."""
    random = np.random.default_rng(font.seed)
    labels = random.integers(0, 10, _TRAIN + _TEST, dtype=np.uint8)
    glyphs = _pixels(font)
    height, width = glyphs.shape[1:]
    images = random.integers(0, 64, (len(labels), _SIDE, _SIDE, 1), dtype=np.uint8)
    greys = random.integers(64, 192, len(labels), dtype=np.uint8)
    tops = random.integers(0, _SIDE - height + 1, len(labels))
    margin = (_SIDE - width) // 4
    lefts = random.integers(margin, _SIDE - width - margin + 1, len(labels))
    for image, label, grey, top, left in zip(images, labels, greys, tops, lefts, strict=True):
        image[top : top + height, left : left + width, 0] += grey * glyphs[label]
    return {
        "x_train": images[:_TRAIN],
        "y_train": labels[:_TRAIN],
        "x_test": images[_TRAIN:],
        "y_test": labels[_TRAIN:],
    }


def _pixels(font: Font) -> npt.NDArray[np.uint8]:
    """[class, height, width], one where there is ink."""
    dots = np.array([[int(dot) for dot in glyph] for glyph in font.glyphs], dtype=np.uint8)
    grid = dots.reshape(len(dots), -1, font.dots_across)
    return grid.repeat(font.pixels_per_dot, axis=1).repeat(font.pixels_per_dot, axis=2)
