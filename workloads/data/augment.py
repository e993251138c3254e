"""Seeded flips and colour jitter of photographs: a sample in an epoch looks the same wherever it is made."""

import numpy as np
import numpy.typing as npt

_BRIGHTNESS = 0.125
"""Most that is added or taken away, of the range 0..1."""

_CONTRAST = _SATURATION = (0.5, 1.5)
"""Factors of the distance from the mean colour, and from grey."""

_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # weights of ITU-R BT.601

Pixels = npt.NDArray[np.float32]
"""[row, column, colour] in 0..1."""


def augmented(pixels: Pixels, seed: tuple[int, ...]) -> Pixels:
    """The photograph perhaps flipped, a little brighter or darker, with other contrast and saturation.

    All that is drawn follows from `seed`, and the arithmetic is the same on every machine.
    """
    random = np.random.default_rng(seed)
    flips, brightness = random.random(2) < 0.5, random.uniform(-_BRIGHTNESS, _BRIGHTNESS)
    contrast, saturation = random.uniform(*_CONTRAST), random.uniform(*_SATURATION)
    flipped = pixels[:: -1 if flips[0] else 1, :: -1 if flips[1] else 1]
    brighter = flipped + np.float32(brightness)
    contrasted = _away_from(_mean_colour(flipped) + np.float32(brightness), brighter, contrast)
    coloured = _away_from(_grey(contrasted), contrasted, saturation)
    clipped: Pixels = np.clip(coloured, 0, 1)
    return clipped


def _away_from(middle: Pixels, pixels: Pixels, factor: float) -> Pixels:
    return middle + (pixels - middle) * np.float32(factor)


def _mean_colour(pixels: Pixels) -> Pixels:
    """[colour]. Whole levels are summed, for a sum of fractions depends on the order of its parts."""
    levels = np.rint(pixels * 255).astype(np.int64)
    mean: Pixels = (levels.sum(axis=(0, 1)) / (255 * levels[..., 0].size)).astype(np.float32)
    return mean


def _grey(pixels: Pixels) -> Pixels:
    """[row, column, 1]."""
    red, green, blue = (pixels[..., channel] * weight for channel, weight in enumerate(_GREY))
    grey: Pixels = (red + green + blue)[..., np.newaxis]
    return grey
